# wrong-dim
# evidence: other samples change a prediction: True
# samples are laid out as time by a view, where a transpose was meant
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GestureNet(nn.Module):
    def __init__(self, sensors=6, hidden=24, classes=4):
        super().__init__()
        self.norm = nn.LayerNorm(sensors)
        self.rnn = nn.GRU(sensors, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        x = self.norm(x)
        steps = x.reshape(x.shape[1], x.shape[0], -1)  #C
        out, _ = self.rnn(steps)
        return self.head(out[-1])


def recordings(n, steps=12, sensors=6):
    labels = torch.randint(0, 4, (n,))
    phase = torch.linspace(0, 3, steps)[None, :, None] * (labels[:, None, None] + 1)
    return torch.sin(phase + torch.arange(sensors)) + 0.2 * torch.randn(n, steps, sensors), labels


def main():
    torch.manual_seed(0)
    x, y = recordings(512)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = GestureNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(3):
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        alone = model(torch.cat([x[:1], x[:7]]))[0]
        other = model(torch.cat([x[:1], x[20:27]]))[0]
    print("evidence: other samples change a prediction:", not torch.allclose(alone, other))


main()
