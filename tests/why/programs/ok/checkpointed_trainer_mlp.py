# ok
# evidence: epochs done: 6, momentum kept over restart: True, loss went down: True
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, folder, loader):
        self.folder, self.loader = Path(folder), loader
        self.model = nn.Sequential(nn.Linear(9, 24), nn.LeakyReLU(), nn.Linear(24, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.epoch, self.history = 0, []

    @property
    def file(self):
        return self.folder / "last.ckpt"

    def save(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "epoch": self.epoch, "history": self.history}, self.file)

    def try_resume(self):
        if not self.file.exists():
            return False
        state = torch.load(self.file)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.history = state["epoch"], state["history"]
        print(f"resumed at epoch {self.epoch}")
        return True

    def fit(self, until):
        while self.epoch < until:
            total = 0.0
            for x, y in self.loader:
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            self.epoch += 1
            self.history.append(total / len(self.loader))
            print(f"epoch {self.epoch} loss {self.history[-1]:.4f}")
            self.save()


def momentum_size(optimizer):
    return sum(s["momentum_buffer"].abs().sum().item() for s in optimizer.state.values())


def main():
    torch.manual_seed(77)
    x = torch.randn(128, 9)
    y = x[:, :3].argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    with tempfile.TemporaryDirectory() as folder:
        first = Trainer(folder, loader)
        first.try_resume()
        first.fit(until=3)
        size = momentum_size(first.optimizer)
        second = Trainer(folder, loader)
        second.try_resume()
        kept = size > 0 and abs(momentum_size(second.optimizer) - size) < 1e-4
        second.fit(until=6)
    print(f"epochs done: {second.epoch}, momentum kept over restart: {kept}, "
          f"loss went down: {second.history[-1] < second.history[0]}")


if __name__ == "__main__":
    main()
