# train-in-validation | eval
# evidence: running statistics untouched by validation: False
import copy

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class TabularNet(nn.Module):
    def __init__(self, n_features, hidden=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


def load_split(n, shift=0.0):
    x = torch.randn(n, 6) + shift
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.MSELoss()
        self.optimizer = optim.AdamW(model.parameters(), lr=5e-3)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(x)
        return total / len(self.train_loader.dataset)

    def validate(self):  #C
        total = 0.0
        with torch.no_grad():  #C
            for x, y in self.val_loader:
                total += self.criterion(self.model(x), y).item() * len(x)  #C
        return total / len(self.val_loader.dataset)

    def fit(self, epochs):
        for epoch in range(epochs):
            tr = self.train_epoch()
            before = copy.deepcopy(dict(self.model.named_buffers()))
            va = self.validate()
            after = dict(self.model.named_buffers())
            self.stats_kept = all(torch.equal(before[k], after[k]) for k in before)
            print(f"[{epoch}] train {tr:.4f}  val {va:.4f}")


def main():
    torch.manual_seed(3)
    train_loader = DataLoader(load_split(192), batch_size=32, shuffle=True)
    val_loader = DataLoader(load_split(64, shift=0.4), batch_size=32)
    trainer = Trainer(TabularNet(6), train_loader, val_loader)
    trainer.fit(5)
    print("running statistics untouched by validation:", trainer.stats_kept)


if __name__ == "__main__":
    main()
