# zero-local-derivative | relu, zero/0/dead/saturat
# evidence: hidden layers trained: False
# parameters: fc1.weight, fc1.bias, fc2.weight, fc2.bias
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class Detector(nn.Module):
    """Scores sensor windows; positives are rare, so biases start at the prior."""

    def __init__(self, n_features=10, hidden=32, prior=0.01):
        super().__init__()
        self.fc1 = nn.Linear(n_features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.init_weights(prior)

    def init_weights(self, prior):
        bias = -math.log((1 - prior) / prior)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.05)
                nn.init.constant_(m.bias, bias)  #C

    def forward(self, x):
        h = F.relu(self.fc1(x))  #C
        h = F.relu(self.fc2(h))  #C
        return self.out(h).squeeze(-1)


def windows(n=512):
    x = torch.randn(n, 10)
    y = ((x[:, 0] + x[:, 1]) > 2.3).float()
    return TensorDataset(x, y)


def fit(model, loader, epochs=4, lr=5e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        print(f"epoch {epoch} bce {total / len(loader.dataset):.4f}")


def main():
    model = Detector()
    hidden = [model.fc1.weight, model.fc2.weight]
    before = [w.detach().clone() for w in hidden]
    fit(model, DataLoader(windows(), batch_size=64, shuffle=True))
    trained = any(not torch.equal(a, b) for a, b in zip(before, hidden))
    print("hidden layers trained:", trained)


if __name__ == "__main__":
    main()
