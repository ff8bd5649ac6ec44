# parameter-in-forward, not-in-optimizer | forward, parameter
# evidence: pooling query among the parameters: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.key = nn.Linear(dim, dim)

    def forward(self, x):
        query = nn.Parameter(torch.randn(self.dim) / self.dim ** 0.5)  #C
        scores = self.key(x) @ query
        weights = torch.softmax(scores, dim=1)
        return (weights.unsqueeze(-1) * x).sum(dim=1)


class BagClassifier(nn.Module):
    """Multiple-instance learning: a bag is positive if one instance is."""

    def __init__(self, n_in=5, dim=16):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU())
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, bag):
        return self.head(self.pool(self.embed(bag))).squeeze(-1)


def make_bags(n=32, size=6):
    bag = torch.randn(n, size, 5)
    y = torch.randint(0, 2, (n,)).float()
    bag[:, 0, 0] += 4.0 * y
    return bag, y


def train(model, optimizer, steps):
    for step in range(steps):
        bag, y = make_bags()
        loss = F.binary_cross_entropy_with_logits(model(bag), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    torch.manual_seed(23)
    model = BagClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    train(model, optimizer, steps=40)
    names = [n for n, _ in model.named_parameters()]
    print("pooling query among the parameters:", any("query" in n for n in names))


if __name__ == "__main__":
    main()
