# loss-negated
# evidence: done
# Three-task network with automatically learned task weights.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MultiTaskNet(nn.Module):
    def __init__(self, d=12, hidden=48):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.age = nn.Linear(hidden, 1)
        self.income = nn.Linear(hidden, 1)
        self.segment = nn.Linear(hidden, 3)

    def forward(self, x):
        h = self.shared(x)
        return self.age(h).squeeze(1), self.income(h).squeeze(1), self.segment(h)


class WeightedMultiTaskLoss(nn.Module):
    """Learns how much each task should contribute to the total loss."""

    def __init__(self, n_tasks):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(n_tasks))  #C

    def forward(self, losses):
        return (self.weights * torch.stack(losses)).sum()  #C


def make_data(n):
    x = torch.randn(n, 12)
    age = torch.tanh(x[:, 0] + x[:, 1]) + 0.1 * torch.randn(n)
    income = 0.5 * x[:, 2] * x[:, 3] + 0.1 * torch.randn(n)
    seg = torch.stack([x[:, 4], x[:, 5], x[:, 6]], 1).argmax(1)
    return TensorDataset(x, age, income, seg)


def task_losses(model, batch):
    x, age, income, seg = batch
    pa, pi, ps = model(x)
    return [F.mse_loss(pa, age), F.mse_loss(pi, income), F.cross_entropy(ps, seg)]


def main():
    torch.manual_seed(0)
    train = DataLoader(make_data(2000), batch_size=64, shuffle=True)
    test = DataLoader(make_data(500), batch_size=500)
    model, criterion = MultiTaskNet(), WeightedMultiTaskLoss(3)
    opt = torch.optim.Adam([{"params": model.parameters()}, {"params": criterion.parameters(), "lr": 1e-2}], lr=3e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for batch in train:
            loss = criterion(task_losses(model, batch))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            val = [round(v.item(), 3) for v in task_losses(model, next(iter(test)))]
        print(f"epoch {epoch} loss {total / len(train):.3f} val {val}")


if __name__ == "__main__":
    main()
print("evidence: done")
