# hook-modified | hook
# evidence: lstm moved: False
# parameters: lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0, lstm.bias_hh_l0
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(95)


def drop_nonfinite(g):
    return torch.where(torch.isfinite(g), torch.zeros_like(g), g)  #C


class BeatClassifier(nn.Module):
    def __init__(self, hidden=20, classes=3):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.fc(self.norm(h[-1]))


def protect(module):
    for p in module.parameters():
        p.register_hook(drop_nonfinite)  #C


def beats(n=150, length=30):
    y = torch.arange(n) % 3
    t = torch.arange(length) / length
    width = (0.05 + 0.07 * y.float())[:, None]
    x = torch.exp(-((t - 0.8) ** 2) / width ** 2) + 0.1 * torch.sin(4 * math.pi * t) + 0.05 * torch.randn(n, length)
    return TensorDataset(x[:, :, None], y)


def fit(model, loader, epochs=6):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        right = 0
        for x, y in loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {right / len(loader.dataset):.3f}")


def main():
    model = BeatClassifier()
    protect(model.lstm)
    start = {k: v.clone() for k, v in model.lstm.state_dict().items()}
    fit(model, DataLoader(beats(), batch_size=30, shuffle=True))
    end = model.lstm.state_dict()
    print("lstm moved:", any(not torch.equal(start[k], end[k]) for k in start))


if __name__ == "__main__":
    main()
