# wrong-dim
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SequenceClassifier(nn.Module):
    def __init__(self, vocab, emb=16, hidden=32, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, num_layers=1)  #C
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens):
        x = self.embedding(tokens)
        out, _ = self.lstm(x)  #C
        last = out[:, -1, :]  #C
        return self.fc(self.dropout(last))


def make_dataset(n, length=10, vocab=12):
    """Label: does token 1 appear in the first half of the sequence?"""
    x = torch.randint(2, vocab, (n, length))
    y = torch.randint(0, 2, (n,))
    pos = torch.randint(0, length // 2, (n,))
    rows = y.nonzero(as_tuple=True)[0]
    x[rows, pos[rows]] = 1
    return TensorDataset(x, y)


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


def main():
    torch.manual_seed(0)
    train = DataLoader(make_dataset(1024), batch_size=32, shuffle=True)
    test = DataLoader(make_dataset(256), batch_size=32)
    model = SequenceClassifier(12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        model.train()
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train):.4f} test acc {evaluate(model, test):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
