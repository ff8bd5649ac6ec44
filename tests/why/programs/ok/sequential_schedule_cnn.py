# ok
# evidence: peak lr reached: True, final lr small: True, val accuracy above 0.6: True
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset


class AudioNet(nn.Module):
    """Classifies the frequency of short noisy waves."""

    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv1d(8, 16, 5, stride=2, padding=2)
        self.norm = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.norm(self.conv2(x)))
        return self.fc(x.amax(-1))


def waves(n):
    y = torch.randint(0, 3, (n,))
    freq = torch.tensor([0.3, 0.9, 1.8])[y]
    t = torch.arange(24).float()
    x = torch.sin(freq[:, None] * t + 6.28 * torch.rand(n, 1)) + 0.3 * torch.randn(n, 24)
    return x.unsqueeze(1), y


class Runner:
    def __init__(self, model, epochs, warmup_epochs, lr):
        self.model, self.epochs = model, epochs
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        warm = LinearLR(self.opt, start_factor=0.1, total_iters=warmup_epochs)
        cos = CosineAnnealingLR(self.opt, T_max=epochs - warmup_epochs, eta_min=1e-5)
        self.sched = SequentialLR(self.opt, [warm, cos], milestones=[warmup_epochs])
        self.lrs = []

    def fit(self, loader):
        for epoch in range(self.epochs):
            self.model.train()
            self.lrs.append(self.opt.param_groups[0]["lr"])
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.sched.step()
            print(f"epoch {epoch} lr {self.lrs[-1]:.4f} loss {loss.item():.3f}")

    @torch.no_grad()
    def accuracy(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(10)
    loader = DataLoader(TensorDataset(*waves(160)), batch_size=32, shuffle=True)
    runner = Runner(AudioNet(), epochs=10, warmup_epochs=3, lr=0.05)
    runner.fit(loader)
    acc = runner.accuracy(*waves(96))
    print(f"peak lr reached: {abs(max(runner.lrs) - 0.05) < 1e-6}, final lr small: {runner.lrs[-1] < 0.01}, "
          f"val accuracy above 0.6: {acc > 0.6}")


if __name__ == "__main__":
    main()
