# loss-detached, value-copied-out, loss-constant | torch.tensor/tensor(
# evidence: parameters changed: 0
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(120)


class StepForecaster(nn.Module):
    """Predicts several steps ahead by feeding its own output back."""

    def __init__(self, hidden=24):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def warm_up(self, past):
        h = past.new_zeros(past.size(0), self.cell.hidden_size)
        for t in range(past.size(1)):
            h = self.cell(past[:, t:t + 1], h)
        return h

    def forward(self, past, horizon):
        h, preds = self.warm_up(past), []
        x = self.out(h)
        for _ in range(horizon):
            preds.append(x)
            h = self.cell(x, h)
            x = self.out(h)
        return preds


def waves(n, past=12, horizon=4):
    t = torch.arange(past + horizon).float()
    phase = 6.28 * torch.rand(n, 1)
    y = torch.sin(0.5 * t + phase) + 0.02 * torch.randn(n, past + horizon)
    return y[:, :past], y[:, past:]


def horizon_loss(preds, future):
    per_step = []
    for k, pred in enumerate(preds):
        per_step.append(F.mse_loss(pred.squeeze(1), future[:, k]))
    return torch.tensor(per_step, requires_grad=True).mean()  #C


def train(model, steps=40, horizon=4, lr=5e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        past, future = waves(32, horizon=horizon)
        loss = horizon_loss(model(past, horizon), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    model = StepForecaster()
    before = [p.detach().clone() for p in model.parameters()]
    train(model)
    changed = sum(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
    print("parameters changed:", changed)


if __name__ == "__main__":
    main()
