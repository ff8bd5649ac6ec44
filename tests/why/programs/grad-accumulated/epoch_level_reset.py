# grad-accumulated | zero_grad/accumulat/cleared
# evidence: each update uses the last batch alone: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TrafficGRU(nn.Module):
    """Next value of a traffic counter from the last ten."""

    def __init__(self, hidden=12):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1]).squeeze(-1)


def counters(n=96, length=10):
    phase = torch.rand(n, 1) * 6.28
    t = torch.arange(length + 1) * 0.6
    flow = torch.sin(t + phase)
    weekday = torch.randint(0, 2, (n, 1)).float().expand(n, length)
    x = torch.stack([flow[:, :-1], weekday], dim=-1)
    return TensorDataset(x, flow[:, -1] + 0.5 * weekday[:, 0])


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.lr = lr
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()

    def train_epoch(self, loader):
        self.model.train()
        self.optimizer.zero_grad()  #C
        total = 0.0
        for x, y in loader:  #C
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.previous = {k: v.clone() for k, v in self.model.state_dict().items()}
            self.optimizer.step()  #C
            self.batch = x, y
            total += loss.item()
        return total / len(loader)


def replay_last_update(trainer):
    """Does the last update follow from the last batch?"""
    model = TrafficGRU()
    model.load_state_dict(trainer.previous)
    x, y = trainer.batch
    slope = torch.autograd.grad(trainer.criterion(model(x), y), model.out.weight)[0]
    moved = trainer.previous["out.weight"] - trainer.model.out.weight.detach()
    return torch.allclose(moved, trainer.lr * slope, rtol=1e-2, atol=1e-6)


def main():
    torch.manual_seed(73)
    loader = DataLoader(counters(), batch_size=12, shuffle=True)
    trainer = Trainer(TrafficGRU())
    for epoch in range(5):
        print(f"epoch {epoch} mse {trainer.train_epoch(loader):.4f}")
    print("each update uses the last batch alone:", replay_last_update(trainer))


if __name__ == "__main__":
    main()
