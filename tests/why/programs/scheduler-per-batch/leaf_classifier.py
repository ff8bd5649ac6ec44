# scheduler-per-batch, learning-rate-zero | scheduler, batch/epoch/step
# evidence: learning rate collapsed within the first epoch: True
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset


class LeafNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(8 * 9, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def leaves(n=160):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 3, 6, 6)
    x[torch.arange(n), y] += 0.8
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, loader, epochs):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        # halve the rate after every epoch
        self.scheduler = ExponentialLR(self.optimizer, gamma=0.5)
        self.criterion = nn.CrossEntropyLoss()
        self.rates = []

    def train_one_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()  #C
            total += loss.item()
        return total / len(self.loader)

    def fit(self):
        for epoch in range(self.epochs):
            loss = self.train_one_epoch()
            self.rates.append(self.scheduler.get_last_lr()[0])
            print(f"epoch {epoch} loss {loss:.4f}")


def main():
    torch.manual_seed(8)
    trainer = Trainer(LeafNet(), DataLoader(leaves(), batch_size=10, shuffle=True), epochs=3)
    trainer.fit()
    print("learning rate collapsed within the first epoch:", trainer.rates[0] < 1e-5)


if __name__ == "__main__":
    main()
