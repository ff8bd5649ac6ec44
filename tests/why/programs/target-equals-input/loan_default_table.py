# target-equals-input | label/target, feature/input/column, leak/contain/same/equal
# evidence: label column is among the features: True
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Hyper:
    hidden: int = 16
    lr: float = 2e-2
    epochs: int = 8
    batch: int = 32


def read_loans(n=320):
    """income, debt, age, late payments, and (last) whether the loan defaulted"""
    income, debt, age = torch.randn(n), torch.randn(n), torch.randn(n)
    late = torch.randint(0, 4, (n,)).float() / 3
    risk = debt - income + late - 0.5 + 0.5 * torch.randn(n)
    default = (risk > 0).float()
    return torch.stack([income, debt, age, late, default], dim=1)


def features_and_label(table):
    label = table[:, -1]
    features = table[:, :]  #C
    features = (features - features.mean(dim=0)) / features.std(dim=0)
    return features, label


class LoanModel(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.fc = nn.Linear(n_in, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.fc(x))).squeeze(1)


def train(model, loader, hp):
    optimizer = torch.optim.Adam(model.parameters(), lr=hp.lr)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(hp.epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return ((model(x) > 0).float() == y).float().mean().item()


def main():
    torch.manual_seed(0)
    hp = Hyper()
    x, y = features_and_label(read_loans())
    loader = DataLoader(TensorDataset(x[:256], y[:256]), batch_size=hp.batch, shuffle=True)
    model = LoanModel(x.shape[1], hp.hidden)
    train(model, loader, hp)
    vx, vy = x[256:], y[256:]
    print(f"validation accuracy {accuracy(model, vx, vy):.3f}")
    inside = any(torch.equal((vx[:, j] > 0).float(), vy) for j in range(vx.shape[1]))
    print("label column is among the features:", inside)


if __name__ == "__main__":
    main()
