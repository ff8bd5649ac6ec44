# class-ignored, masked-all | class/tag/label/outside, mask/ignored/0/zero/never
# evidence: tokens of tag 0 counted in the loss: 0, tokens of tag 0 in the data: True
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

TAGS = ["O", "PERSON", "PLACE"]
PAD_TAG = -1


class Tagger(nn.Module):
    def __init__(self, vocab=40, dim=12, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.tag(h)


def make_sentences(n, max_len=8):
    """Tokens 1-20 are plain words, 21-30 names, 31-39 places, 0 is padding."""
    tokens = torch.zeros(n, max_len, dtype=torch.long)
    tags = torch.full((n, max_len), PAD_TAG)
    for i in range(n):
        length = int(torch.randint(4, max_len + 1, (1,)))
        ids = torch.randint(1, 40, (length,))
        tokens[i, :length] = ids
        tags[i, :length] = (ids > 20).long() + (ids > 30).long()
    return TensorDataset(tokens, tags)


def masked_loss(logits, tags):
    """Padded positions carry no tag and do not count."""
    mask = tags > 0  #C
    loss = F.cross_entropy(logits[mask], tags[mask])  #C
    return loss, mask


def train(model, loader, epochs=6, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    counted = torch.zeros(len(TAGS), dtype=torch.long)
    for epoch in range(epochs):
        total = 0.0
        for tokens, tags in loader:
            loss, mask = masked_loss(model(tokens), tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            counted += torch.bincount(tags[mask], minlength=len(TAGS))
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
    return counted


def main():
    torch.manual_seed(0)
    data = make_sentences(96)
    model = Tagger()
    counted = train(model, DataLoader(data, batch_size=16, shuffle=True))
    tokens, tags = make_sentences(40).tensors
    with torch.no_grad():
        pred = model(tokens).argmax(-1)
    for k, name in enumerate(TAGS):
        print(f"  {name}: recall {(pred[tags == k] == k).float().mean().item():.2f}")
    present = bool((data.tensors[1] == 0).any())
    print(f"tokens of tag 0 counted in the loss: {int(counted[0])}, tokens of tag 0 in the data: {present}")


if __name__ == "__main__":
    main()
