# init-symmetric, zero-factor | zero/zeros
# evidence: weight matrices that moved: 0
# parameters: fc1.weight, fc1.bias, fc2.weight, fc2.bias, fc3.weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FaultDetector(nn.Module):
    def __init__(self, n_in=7, hidden=20, classes=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.weight)  #C
        nn.init.zeros_(module.bias)  #C


def faults(n=180):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 7)
    x[torch.arange(n), y] += 2.0
    return TensorDataset(x, y)


def train(model, loader, epochs=5):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        total = hits = 0.0
        for x, y in loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            hits += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {total / len(loader):.4f} acc {hits / len(loader.dataset):.2f}")


def main():
    torch.manual_seed(93)
    model = FaultDetector()
    model.apply(init_weights)  #C
    before = {n: p.detach().clone() for n, p in model.named_parameters() if p.dim() == 2}
    train(model, DataLoader(faults(), batch_size=30, shuffle=True))
    moved = sum(not torch.equal(before[n], p) for n, p in model.named_parameters() if n in before)
    print("weight matrices that moved:", moved)


if __name__ == "__main__":
    main()
