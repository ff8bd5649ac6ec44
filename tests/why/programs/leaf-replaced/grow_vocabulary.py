# leaf-replaced, not-in-optimizer | optimizer
# evidence: embedding rows updated: 0
# parameters: emb.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)

DOCS = [
    ("the film was lovely and warm", 1),
    ("a lovely warm story", 1),
    ("the plot was dull and cold", 0),
    ("a dull cold film", 0),
    ("warm story and lovely plot", 1),
    ("cold story and dull film", 0),
]
NEW_DOCS = [("a superb script", 1), ("a dreadful script", 0), ("superb and warm", 1), ("dreadful and dull", 0)]


class Vocab:
    def __init__(self):
        self.index = {"<pad>": 0}

    def add(self, docs):
        for text, _ in docs:
            for w in text.split():
                self.index.setdefault(w, len(self.index))

    def encode(self, docs, length=6):
        rows = []
        for text, _ in docs:
            ids = [self.index[w] for w in text.split()][:length]
            rows.append(ids + [0] * (length - len(ids)))
        return torch.tensor(rows), torch.tensor([float(y) for _, y in docs])


class BagClassifier(nn.Module):
    def __init__(self, vocab_size, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim)
        self.fc = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, ids):
        return self.fc(self.emb(ids).mean(dim=1)).squeeze(1)

    def resize_vocab(self, size):
        old = self.emb.weight.data
        extra = 0.1 * torch.randn(size - old.size(0), old.size(1))
        self.emb.weight = nn.Parameter(torch.cat([old, extra]))  #C
        self.emb.num_embeddings = size


def main():
    vocab = Vocab()
    vocab.add(DOCS)
    model = BagClassifier(len(vocab.index))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)  #C
    vocab.add(NEW_DOCS)
    model.resize_vocab(len(vocab.index))  #C
    ids, y = vocab.encode(DOCS + NEW_DOCS)
    before = model.emb.weight.detach().clone()
    for epoch in range(30):
        perm = torch.randperm(len(y))
        for chunk in perm.split(5):
            loss = F.binary_cross_entropy_with_logits(model(ids[chunk]), y[chunk])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 10 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    changed = (model.emb.weight.detach() != before).any(dim=1).sum().item()
    print("embedding rows updated:", changed)


if __name__ == "__main__":
    main()
