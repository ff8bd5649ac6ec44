# ok
# evidence: train accuracy above 0.8: True, signs of coefficients right: True
import torch
from torch import nn


def load():
    """A hundred patients, three standardised measurements, one outcome."""
    x = torch.randn(100, 3)
    coef = torch.tensor([2.0, -1.5, 0.0])
    y = (x @ coef + 0.3 * torch.randn(100) > 0).float()
    return (x - x.mean(0)) / x.std(0), y


class LogisticRegression(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.linear = nn.Linear(d, 1)
        nn.init.zeros_(self.linear.weight)      # convex: zero is a fine starting point
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return self.linear(x).squeeze(1)


def main():
    torch.manual_seed(88)
    x, y = load()
    model = LogisticRegression(3)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for it in range(50):                        # plain gradient descent on all rows
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if it % 10 == 0:
            print(f"iteration {it:3d} log loss {loss.item():.4f}")
    with torch.no_grad():
        acc = ((model(x) > 0).float() == y).float().mean().item()
    w = model.linear.weight[0].tolist()
    print(f"train accuracy above 0.8: {acc > 0.8}, signs of coefficients right: {w[0] > 0 > w[1]}")


if __name__ == "__main__":
    main()
