# module-repeated | same/share/repeat/once/only one/one module
# evidence: distinct blocks: 1
# parameters: blocks.0.norm.weight, blocks.0.norm.bias, blocks.0.fc1.weight, blocks.0.fc1.bias, blocks.0.fc2.weight, blocks.0.fc2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class ResidualMLP(nn.Module):
    def __init__(self, n_in, dim=16, depth=6, n_out=2):
        super().__init__()
        self.stem = nn.Linear(n_in, dim)
        self.blocks = nn.Sequential(*[Block(dim)] * depth)  #C
        self.head = nn.Linear(dim, n_out)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def spirals(n=200):
    y = torch.arange(n) % 2
    r = torch.rand(n)
    a = 4.0 * r + 3.1416 * y
    x = torch.stack([r * torch.cos(a), r * torch.sin(a)], dim=1)
    return TensorDataset(x + 0.02 * torch.randn(n, 2), y)


def main():
    torch.manual_seed(19)
    loader = DataLoader(spirals(), batch_size=25, shuffle=True)
    model = ResidualMLP(2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    for epoch in range(5):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    print("distinct blocks:", len({id(b) for b in model.blocks}))


if __name__ == "__main__":
    main()
