# ok
# evidence: padded positions: True, token accuracy above 0.7: True, loss went down: True
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, IGNORE, VOCAB, TAGS = 0, -100, 25, 3


class Sentences(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            ids = torch.randint(1, VOCAB, (random.randint(3, 9),))
            self.items.append((ids, ids % TAGS))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    ids, tags = zip(*batch)
    return (pad_sequence(ids, batch_first=True, padding_value=PAD),
            pad_sequence(tags, batch_first=True, padding_value=IGNORE))


class Tagger(nn.Module):
    def __init__(self, dim=16, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, ids):
        return self.out(self.gru(self.embed(ids))[0])


def main():
    torch.manual_seed(22)
    random.seed(22)
    loader = DataLoader(Sentences(96), batch_size=12, shuffle=True, collate_fn=collate)
    model = Tagger()
    criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    history, padded = [], False
    for epoch in range(6):
        total = 0.0
        for ids, tags in loader:
            loss = criterion(model(ids).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            padded = padded or bool((tags == IGNORE).any())
        history.append(total / len(loader))
        print(f"epoch {epoch} loss {history[-1]:.4f}")
    with torch.no_grad():
        hit = n = 0
        for ids, tags in loader:
            valid = tags != IGNORE
            hit += (model(ids).argmax(-1) == tags)[valid].sum().item()
            n += valid.sum().item()
    print(f"padded positions: {padded}, token accuracy above 0.7: {hit / n > 0.7}, "
          f"loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
