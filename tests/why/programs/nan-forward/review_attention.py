# nan-forward, masked-all | softmax/mask, nan/inf/finite
# evidence: validation predictions finite: False
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

random.seed(4)
torch.manual_seed(4)

GOOD, BAD, FILLER = range(1, 6), range(6, 11), range(11, 30)


def make_reviews(n):
    docs, labels = [], []
    for i in range(n):
        label = i % 2
        length = random.randint(0, 7)
        pool = list(GOOD if label else BAD)
        docs.append([random.choice(pool + list(FILLER)[:4]) for _ in range(length)])
        labels.append(label)
    return docs, labels


def collate(docs, labels):
    seqs = [torch.tensor(d, dtype=torch.long) for d in docs]
    return pad_sequence(seqs, batch_first=True, padding_value=0), torch.tensor(labels)


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)

    def forward(self, h, pad):
        scores = h @ self.query
        weights = torch.softmax(scores.masked_fill(pad, float("-inf")), dim=1)  #C
        return (weights[:, :, None] * h).sum(dim=1)


class ReviewModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.pool = AttentionPool(dim)
        self.fc = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.fc(self.pool(self.emb(ids), ids == 0))


def main():
    docs, labels = make_reviews(240)
    train_x, train_y = collate(docs[:192], labels[:192])
    val_x, val_y = collate([d for d in docs[192:] if d], [y for d, y in zip(docs[192:], labels[192:]) if d])
    model = ReviewModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        order = torch.randperm(len(train_y))
        for idx in order.split(32):
            loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    with torch.no_grad():
        pred = model(val_x)
    print("validation predictions finite:", bool(torch.isfinite(pred).all()))


if __name__ == "__main__":
    main()
