# data-constant | batch/data/input, same/identical/iter/first
# evidence: different training samples seen in 40 steps: 16 of 160
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class WineNet(nn.Module):
    def __init__(self, n_features=11, n_grades=3):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_features, 32), nn.LayerNorm(32), nn.GELU(),
            nn.Linear(32, 32), nn.GELU(),
        )
        self.grade = nn.Linear(32, n_grades)

    def forward(self, x):
        return self.grade(self.trunk(x))


def make_wines(n=200):
    x = torch.randn(n, 11)
    score = x[:, 0] - 0.8 * x[:, 3] + 0.5 * x[:, 7] + 0.2 * torch.randn(n)
    y = torch.bucketize(score, torch.tensor([-0.6, 0.6]))
    return TensorDataset(x, y, torch.arange(n))


def train(model, loader, steps, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    seen = set()
    model.train()
    for step in range(1, steps + 1):
        x, y, ids = next(iter(loader))  #C
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        seen.update(ids.tolist())
        if step % 10 == 0:
            print(f"[{step}/{steps}] loss={loss.item():.4f}")
    return seen


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = total = 0
    for x, y, _ in loader:
        correct += (model(x).argmax(dim=1) == y).sum().item()
        total += len(y)
    return correct / total


def main():
    torch.manual_seed(0)
    train_set, val_set = random_split(make_wines(), [160, 40])
    train_loader = DataLoader(train_set, batch_size=16)
    val_loader = DataLoader(val_set, batch_size=40)
    model = WineNet()
    seen = train(model, train_loader, steps=40)
    print(f"validation accuracy {evaluate(model, val_loader):.2f}")
    print(f"different training samples seen in 40 steps: {len(seen)} of {len(train_set)}")


if __name__ == "__main__":
    main()
