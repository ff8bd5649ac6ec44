# scheduler-before-optimizer, schedule-wrong | scheduler, optimizer.step/before/order
# evidence: epochs at the base rate: 1
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", category=UserWarning)


class Tower(nn.Module):
    def __init__(self, n_in=10, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class TripletTrainer:
    def __init__(self, lr=0.05, milestones=(2, 4)):
        self.lr = lr
        self.model = Tower()
        self.criterion = nn.TripletMarginLoss(margin=0.5)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.scheduler = MultiStepLR(self.optimizer, milestones=list(milestones), gamma=0.1)
        self.scheduler.step()  #C
        self.rates = []

    def train_epoch(self, loader):
        total = 0.0
        for anchor, positive, negative in loader:
            loss = self.criterion(self.model(anchor), self.model(positive), self.model(negative))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.rates.append(self.optimizer.param_groups[0]["lr"])
            loss = self.train_epoch(loader)
            self.scheduler.step()
            print(f"epoch {epoch} lr {self.rates[-1]:.5f} triplet {loss:.4f}")


def triplets(n=120):
    centers = torch.randn(6, 10) * 1.5
    a = torch.randint(0, 6, (n,))
    b = (a + torch.randint(1, 6, (n,))) % 6
    noise = lambda: 0.6 * torch.randn(n, 10)
    return TensorDataset(centers[a] + noise(), centers[a] + noise(), centers[b] + noise())


def main():
    torch.manual_seed(95)
    trainer = TripletTrainer()
    trainer.fit(DataLoader(triplets(), batch_size=20, shuffle=True), epochs=6)
    print("epochs at the base rate:", sum(abs(r - trainer.lr) < 1e-9 for r in trainer.rates))


if __name__ == "__main__":
    main()
