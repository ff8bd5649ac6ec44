# wrong-dim
# evidence: done
# Variable length sequence classification with packed GRU inputs.
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB, PAD = 40, 0


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            length = rng.randint(3, 20)
            label = rng.randint(0, 1)
            words = range(1, 24) if label else range(17, VOCAB)
            self.items.append(([rng.choice(list(words)) for _ in range(length)], label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    tokens = [torch.tensor(t) for t, _ in batch]
    lengths = torch.tensor([len(t) for t in tokens])
    labels = torch.tensor([y for _, y in batch])
    return pad_sequence(tokens, batch_first=True, padding_value=PAD), lengths, labels


class GRUClassifier(nn.Module):
    def __init__(self, emb=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, tokens, lengths):
        lengths, order = lengths.sort(descending=True)  #C
        emb = self.embedding(tokens[order])  #C
        packed = pack_padded_sequence(emb, lengths, batch_first=True)
        _, h_n = self.gru(packed)
        return self.fc(h_n[-1])  #C


def run(model, loader, opt=None):
    model.train(opt is not None)
    loss_sum = hits = n = 0
    for tokens, lengths, labels in loader:
        with torch.set_grad_enabled(opt is not None):
            logits = model(tokens, lengths)
            loss = F.cross_entropy(logits, labels)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        loss_sum += loss.item() * len(labels)
        hits += (logits.argmax(1) == labels).sum().item()
        n += len(labels)
    return loss_sum / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(Reviews(320, 1), batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(Reviews(300, 2), batch_size=50, collate_fn=collate)
    model = GRUClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        tr, va = run(model, train, opt), run(model, valid)
        print(f"epoch {epoch} train loss {tr[0]:.4f} acc {tr[1]:.3f} valid loss {va[0]:.4f} acc {va[1]:.3f}")
print("evidence: done")
