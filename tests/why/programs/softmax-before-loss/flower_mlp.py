# softmax-before-loss | softmax, cross entropy/cross_entropy/crossentropyloss/crossentropy
# evidence: last loss below 0.5: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 3


class FlowerClassifier(nn.Module):
    def __init__(self, in_features=4, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, NUM_CLASSES),
            nn.Softmax(dim=1),  #C
        )

    def forward(self, x):
        return self.layers(x)


def make_flowers(n_per_class=40):
    centers = torch.tensor([[2.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 2.0, 0.0]])
    xs, ys = [], []
    for c in range(NUM_CLASSES):
        xs.append(centers[c] + 0.4 * torch.randn(n_per_class, 4))
        ys.append(torch.full((n_per_class,), c))
    return torch.cat(xs), torch.cat(ys)


def train(model, loader, epochs=8, lr=1e-2):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = []
    for epoch in range(epochs):
        total, correct = 0.0, 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)  #C
            loss.backward()
            optimizer.step()
            total += loss.item() * x.size(0)
            correct += (out.argmax(dim=1) == y).sum().item()
        n = len(loader.dataset)
        history.append(total / n)
        print(f"epoch {epoch + 1}: loss={total / n:.4f} acc={correct / n:.3f}")
    return history


def main():
    torch.manual_seed(42)
    x, y = make_flowers()
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    history = train(FlowerClassifier(), loader)
    print("last loss below 0.5:", history[-1] < 0.5)


if __name__ == "__main__":
    main()
