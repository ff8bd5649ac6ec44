# graph-kept | graph/history, item/detach
# evidence: stored losses that hold a graph: 30
import torch
import torch.nn as nn
import torch.nn.functional as F


class MetricTracker:
    def __init__(self):
        self.values = {}

    def update(self, **metrics):
        for name, value in metrics.items():
            self.values.setdefault(name, []).append(value)  #C

    def mean(self, name, last=10):
        recent = self.values[name][-last:]
        return sum(recent) / len(recent)


class ForecastLSTM(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series):
        h, _ = self.lstm(series)
        return self.head(h[:, -1])


def windows(batch=16, length=12):
    phase = 6.28 * torch.rand(batch, 1)
    t = torch.arange(length + 1) * 0.4
    s = torch.sin(t + phase).unsqueeze(-1)
    return s[:, :-1], s[:, -1]


def train(model, steps=30):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    tracker = MetricTracker()
    for step in range(steps):
        x, y = windows()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.update(mse=loss, step=step)  #C
        if step % 10 == 9:
            print(f"step {step + 1} mse {float(tracker.mean('mse')):.4f}")
    return tracker


def main():
    torch.manual_seed(44)
    tracker = train(ForecastLSTM())
    held = sum(torch.is_tensor(v) and v.grad_fn is not None for v in tracker.values["mse"])
    print("stored losses that hold a graph:", held)


if __name__ == "__main__":
    main()
