# weights-reset | ema/average/shadow, copy_/copied/overwrit/replac/reset
# evidence: epochs after which the live weights were the averaged ones: 6 of 6
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SensorNet(nn.Module):
    def __init__(self, channels=3, length=16):
        super().__init__()
        self.conv = nn.Conv1d(channels, 8, 3, padding=1)
        self.norm = nn.LayerNorm([8, length])
        self.fc = nn.Linear(8 * length, 1)

    def forward(self, x):
        return self.fc(torch.tanh(self.norm(self.conv(x))).flatten(1)).squeeze(1)


class WeightAverage:
    """Exponential moving average of the weights, used for evaluation."""

    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @torch.no_grad()
    def apply_to(self, model):
        for n, p in model.named_parameters():
            self.backup[n] = p.detach().clone()
            p.copy_(self.shadow[n])  #C

    @torch.no_grad()
    def restore(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup[n])
        self.backup = {}


def make_sensor_data(n):
    x = torch.randn(n, 3, 16)
    y = x[:, 0].mean(dim=1) * 4 - x[:, 2, 4:8].sum(dim=1) * 0.5
    return TensorDataset(x, y)


def train_one_epoch(model, loader, optimizer, average):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        total += loss.item()
    return total / len(loader)


def evaluate(model, loader, average):
    model.eval()
    average.apply_to(model)  #C
    with torch.no_grad():
        errors = [nn.functional.l1_loss(model(x), y).item() for x, y in loader]
    return sum(errors) / len(errors)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_sensor_data(128), batch_size=16, shuffle=True)
    val_loader = DataLoader(make_sensor_data(64), batch_size=64)
    model = SensorNet()
    average = WeightAverage(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    averaged = 0
    for epoch in range(6):
        loss = train_one_epoch(model, train_loader, optimizer, average)
        error = evaluate(model, val_loader, average)
        print(f"epoch {epoch}: train mse {loss:.4f}, val mae (averaged weights) {error:.4f}")
        averaged += all(torch.equal(p, average.shadow[n]) for n, p in model.named_parameters())
    print(f"epochs after which the live weights were the averaged ones: {averaged} of 6")


if __name__ == "__main__":
    main()
