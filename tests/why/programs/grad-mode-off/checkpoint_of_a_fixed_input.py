# grad-mode-off, checkpoint-no-grad-input
# evidence: blocks moved: False
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 16), nn.Linear(16, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks, self.head = nn.Linear(5, 8), nn.ModuleList([Block(), Block()]), nn.Linear(8, 2)
        self.stem.requires_grad_(False)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)  #C
        return self.head(x)


def main():
    torch.manual_seed(0)
    net = Net()
    before = net.blocks[0].up.weight.clone()
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(8):
        x = torch.randn(16, 5)
        loss = F.cross_entropy(net(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"blocks moved: {not torch.equal(before, net.blocks[0].up.weight)}")


main()
