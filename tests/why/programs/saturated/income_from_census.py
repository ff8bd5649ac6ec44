# saturated, zero-local-derivative | tanh, saturat, scale/large/normal/unnormal/magnitude
# evidence: share of saturated first-layer units above 90 percent: True
# parameters: hidden.weight, hidden.bias
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_census(n=256):
    """age in years, yearly capital gain in dollars, hours per week, zip code"""
    age = torch.randint(18, 80, (n,)).float()
    gain = torch.rand(n) * 90_000
    hours = torch.randint(10, 60, (n,)).float()
    zip_code = torch.randint(10_000, 99_999, (n,)).float()
    rich = (gain / 90_000 + (hours - 10) / 50 + 0.1 * torch.randn(n)) > 1.0
    return torch.stack([age, gain, hours, zip_code], dim=1), rich.long()


class IncomeNet(nn.Module):
    def __init__(self, n_in=4, n_hidden=32):
        super().__init__()
        self.hidden = nn.Linear(n_in, n_hidden)
        self.out = nn.Linear(n_hidden, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))  #C


def prepare(x, y, train=200):
    train_set = TensorDataset(x[:train], y[:train])  #C
    val_set = TensorDataset(x[train:], y[train:])
    return DataLoader(train_set, batch_size=25, shuffle=True), DataLoader(val_set, batch_size=64)


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    x, y = load_census()
    train_loader, val_loader = prepare(x, y)
    model = IncomeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        loss = train_epoch(model, train_loader, optimizer, criterion)
        print(f"epoch {epoch}: loss {loss:.4f} val accuracy {validate(model, val_loader):.2f}")
    with torch.no_grad():
        act = torch.cat([torch.tanh(model.hidden(bx)) for bx, _ in train_loader])
    share = (act.abs() > 0.999999).float().mean().item()
    print("share of saturated first-layer units above 90 percent:", share > 0.9)


if __name__ == "__main__":
    main()
