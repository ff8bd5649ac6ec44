# learning-rate-zero, schedule-wrong | lr/learning rate, gamma/decay/schedul
# evidence: learning rate below 1e-12 from epoch 6 on: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GestureRNN(nn.Module):
    def __init__(self, n_in=3, hidden=24, n_classes=3):
        super().__init__()
        self.rnn = nn.RNN(n_in, hidden, batch_first=True)
        self.classify = nn.Linear(hidden, n_classes)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.classify(states.mean(dim=1))


def make_gestures(n, steps=12):
    """Three movements of an accelerometer: left, right, circle."""
    t = torch.linspace(0, 1, steps)
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, steps, 3)
    left, right = y == 0, y == 1
    x[left, :, 0] -= t
    x[right, :, 0] += t
    x[y == 2, :, 1] += torch.sin(6.28 * t) + 0.5
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, loaders, lr=5e-3, epochs=12):
        self.model = model
        self.train_loader, self.val_loader = loaders
        self.epochs = epochs
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.01)  #C
        self.lrs = []

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return hits / len(self.val_loader.dataset)

    def fit(self):
        for epoch in range(self.epochs):
            self.lrs.append(self.scheduler.get_last_lr()[0])
            loss = self.train_epoch()
            self.scheduler.step()  #C
            if epoch % 3 == 0:
                print(f"epoch {epoch}: loss {loss:.4f} val accuracy {self.validate():.2f}")


def main():
    torch.manual_seed(0)
    loaders = DataLoader(make_gestures(96), batch_size=24, shuffle=True), DataLoader(make_gestures(48), batch_size=48)
    trainer = Trainer(GestureRNN(), loaders)
    trainer.fit()
    print("learning rate below 1e-12 from epoch 6 on:", max(trainer.lrs[6:]) < 1e-12)


if __name__ == "__main__":
    main()
