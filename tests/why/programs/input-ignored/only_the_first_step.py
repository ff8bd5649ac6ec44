# input-ignored, zero-factor
# evidence: later steps count: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class Monitor(nn.Module):
    """Classifies vibration recordings."""

    def __init__(self, sensors=3, hidden=20):
        super().__init__()
        self.rnn = nn.GRU(sensors, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x):
        states, _ = self.rnn(x)  #C
        return self.head(states[:, 0])  #C


def recordings(n, steps=20):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, steps, 3)
    x[:, 1:] += 0.7 * y[:, None, None] * x[:, :-1]
    return x, y


def fit(model, steps=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = recordings(32)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
monitor = Monitor()
print(f"loss {fit(monitor):.3f}")
x, _ = recordings(4)
other = x.clone()
other[:, 1:] = torch.randn(4, 19, 3)
print("evidence: later steps count:", not torch.equal(monitor(x), monitor(other)))
