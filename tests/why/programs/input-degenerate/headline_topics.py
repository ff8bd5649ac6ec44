# input-degenerate, data-constant | input/token/index/embedding, same/constant/unknown/one/all
# evidence: different token ids fed to the model: 1
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TOPICS = {
    0: ["Match", "Goal", "Team", "Coach", "Final"],
    1: ["Market", "Stocks", "Bank", "Profit", "Trade"],
    2: ["Film", "Actor", "Song", "Stage", "Album"],
}
COMMON = ["Today", "New", "Big", "After", "Before", "Again"]


def make_headlines(n):
    lines, labels = [], []
    for _ in range(n):
        k = random.randrange(3)
        words = random.choices(TOPICS[k], k=3) + random.choices(COMMON, k=2)
        random.shuffle(words)
        lines.append(" ".join(words))
        labels.append(k)
    return lines, labels


class Vocabulary:
    UNK = 0

    def __init__(self, lines):
        words = sorted({w for line in lines for w in line.split()})
        self.index = {w: i + 1 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index) + 1

    def encode(self, line):
        return [self.index.get(w, self.UNK) for w in line.lower().split()]  #C


class HeadlineModel(nn.Module):
    def __init__(self, vocab, dim=12):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 16, 2)
        self.out = nn.Linear(16, 3)

    def forward(self, ids):
        h = self.embedding(ids).transpose(1, 2)
        h = torch.tanh(self.conv(h)).mean(dim=2)
        return self.out(h)


def main():
    random.seed(4)
    torch.manual_seed(0)
    lines, labels = make_headlines(150)
    vocab = Vocabulary(lines)
    ids = torch.tensor([vocab.encode(line) for line in lines])
    loader = DataLoader(TensorDataset(ids, torch.tensor(labels)), batch_size=25, shuffle=True)
    model = HeadlineModel(len(vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        total, hits = 0.0, 0
        for x, y in loader:
            logits = model(x)
            loss = criterion(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            hits += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch}: loss {total / len(loader):.3f} accuracy {hits / len(lines):.2f}")
    print("different token ids fed to the model:", len(ids.unique()))


if __name__ == "__main__":
    main()
