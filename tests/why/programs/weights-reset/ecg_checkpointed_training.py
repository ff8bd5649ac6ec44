# weights-reset | load_state_dict/checkpoint/restor/reload/reset
# evidence: epochs that began with the very first weights: 6 of 6
import os
import tempfile
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BeatClassifier(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2, bias=False), nn.BatchNorm1d(8), nn.GELU(), nn.MaxPool1d(2),
            nn.Conv1d(8, 8, 5, padding=2), nn.GELU(),
        )
        self.fc = nn.Linear(8 * 10, n_classes)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def make_beats(n, length=20):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(-1, 1, length)
    centers = torch.tensor([-0.5, 0.0, 0.5])[y].unsqueeze(1)
    x = torch.exp(-((t - centers) / 0.2) ** 2) + 0.3 * torch.randn(n, length)
    return TensorDataset(x.unsqueeze(1), y)


class Trainer:
    def __init__(self, model, folder, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.path = os.path.join(folder, "last.pt")
        self.epoch_starts = []

    def save(self):
        torch.save(self.model.state_dict(), self.path)

    def resume(self):
        if os.path.exists(self.path):
            self.model.load_state_dict(torch.load(self.path))  #C

    def train_epoch(self, loader):
        self.resume()  #C
        self.epoch_starts.append(self.model.fc.weight.detach().clone())
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_beats(120), batch_size=20, shuffle=True)
    val_loader = DataLoader(make_beats(60), batch_size=60)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(BeatClassifier(), folder)
        trainer.save()
        for epoch in range(6):
            loss = trainer.train_epoch(train_loader)
            print(f"epoch {epoch}: loss {loss:.4f} val accuracy {trainer.accuracy(val_loader):.2f}")
    starts = trainer.epoch_starts
    same = sum(torch.equal(w, starts[0]) for w in starts)
    print(f"epochs that began with the very first weights: {same} of {len(starts)}")


if __name__ == "__main__":
    main()
