# dropout-all, zero-factor | drop, last/1/prob/every/all/block
# evidence: blocks whose weights never moved: [3]
# parameters: blocks.3.norm.weight, blocks.3.norm.bias, blocks.3.fc1.weight, blocks.3.fc1.bias, blocks.3.fc2.weight, blocks.3.fc2.bias
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DropPath(nn.Module):
    """Leaves out the residual branch of whole samples during training."""

    def __init__(self, drop_prob):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if not self.training:
            return x * (1.0 - self.drop_prob)
        keep = torch.rand(x.shape[0], 1) >= self.drop_prob
        return x * keep  #C


class Block(nn.Module):
    def __init__(self, dim, drop_prob):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        self.drop_path = DropPath(drop_prob)

    def forward(self, x):
        return x + self.drop_path(self.fc2(nn.functional.gelu(self.fc1(self.norm(x)))))


class ResidualClassifier(nn.Module):
    def __init__(self, n_in=12, dim=16, depth=4, n_classes=3):
        super().__init__()
        rates = torch.linspace(0, 1, depth).tolist()  #C
        self.stem = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList(Block(dim, r) for r in rates)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def make_data(n=180):
    x = torch.randn(n, 12)
    score = torch.stack([x[:, 0] * x[:, 1], x[:, 2], x[:, 3] - x[:, 4]], dim=1)
    return TensorDataset(x, score.argmax(dim=1))


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=30, shuffle=True)
    model = ResidualClassifier()
    start = [[p.detach().clone() for p in b.parameters()] for b in model.blocks]
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
    still = [i for i, b in enumerate(model.blocks)
             if all(torch.equal(p, s) for p, s in zip(b.parameters(), start[i]))]
    print("blocks whose weights never moved:", still)


if __name__ == "__main__":
    main()
