# leaf-replaced, not-in-optimizer | optimizer
# evidence: pruned weights retrained: False
# parameters: fc1.weight, fc2.weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(65)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 32)
        self.fc2 = nn.Linear(32, 32)
        self.out = nn.Linear(32, 5)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def prune_layer(layer, amount):
    w = layer.weight.detach()
    threshold = w.abs().flatten().kthvalue(int(amount * w.numel())).values
    layer.weight = nn.Parameter(w * (w.abs() > threshold).float())  #C


class PruningTrainer:
    def __init__(self, model, loader, lr=5e-3):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)  #C

    def epoch(self):
        total = 0.0
        for x, y in self.loader:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)

    def prune(self, amount=0.5):
        for layer in (self.model.fc1, self.model.fc2):
            prune_layer(layer, amount)  #C


def clusters(n=320):
    y = torch.randint(0, 5, (n,))
    centers = torch.randn(5, 20)
    return TensorDataset(centers[y] + 0.8 * torch.randn(n, 20), y)


def main():
    trainer = PruningTrainer(Net(), DataLoader(clusters(), batch_size=64, shuffle=True))
    for epoch in range(3):
        print(f"dense epoch {epoch} loss {trainer.epoch():.4f}")
    trainer.prune()
    w1, w2 = trainer.model.fc1.weight.detach().clone(), trainer.model.fc2.weight.detach().clone()
    for epoch in range(5):
        print(f"sparse epoch {epoch} loss {trainer.epoch():.4f}")
    same = torch.equal(w1, trainer.model.fc1.weight) and torch.equal(w2, trainer.model.fc2.weight)
    print("pruned weights retrained:", not same)


if __name__ == "__main__":
    main()
