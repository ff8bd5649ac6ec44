# loss-constant, target-constant | constant/0/zero/one class/single class
# evidence: distinct loss values: 1
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(30)


class ChurnData(Dataset):
    def __init__(self, n=300):
        self.x = torch.randn(n, 7)
        risk = self.x[:, 0] - 0.7 * self.x[:, 3]
        self.y = (risk > 0).float().unsqueeze(1)

    def __len__(self):
        return self.x.size(0)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ChurnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(7, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model, loader, lr=1e-3):
        self.model, self.loader = model, loader
        self.criterion = nn.CrossEntropyLoss()  #C
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.losses = []

    def train_one_epoch(self):
        self.model.train()
        for x, y in self.loader:
            logits = self.model(x)
            loss = self.criterion(logits, y.argmax(dim=1))  #C
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
        return sum(self.losses[-len(self.loader):]) / len(self.loader)


def main():
    loader = DataLoader(ChurnData(), batch_size=50, shuffle=True)
    trainer = Trainer(ChurnNet(), loader)
    for epoch in range(4):
        print(f"epoch {epoch} loss {trainer.train_one_epoch():.4f}")
    print("distinct loss values:", len(set(trainer.losses)))


if __name__ == "__main__":
    main()
