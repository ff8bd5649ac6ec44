# ok
# evidence: trained
# Splits, merges and regroups dimensions as it should, and normalises weights over what they weigh.
import torch
import torch.nn.functional as F
from torch import nn


class Slots(nn.Module):
    """Slots compete for places: softmax over the slots, then a mean over the places."""

    def __init__(self, width=12, slots=3):
        super().__init__()
        self.slots = nn.Parameter(torch.randn(slots, width))
        self.key = nn.Linear(width, width)

    def forward(self, x):
        weights = F.softmax(self.slots @ self.key(x).transpose(1, 2), dim=1)
        return (weights / weights.sum(-1, keepdim=True)) @ x


class Net(nn.Module):
    def __init__(self, width=12, heads=3):
        super().__init__()
        self.heads, self.qkv, self.slots = heads, nn.Linear(width, 3 * width), Slots(width)
        self.centers, self.out = nn.Parameter(torch.randn(5, width)), nn.Linear(2 * width, 4)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        weights = F.softmax(q @ k.transpose(-2, -1), dim=-1)
        x = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        soft = F.softmax(x @ self.centers.t(), dim=-1) @ self.centers
        pairs = self.slots(x).reshape(batch, 3 * width).view(batch, 3, width).mean(1)
        return self.out(torch.cat([pairs, soft.mean(1)], 1).reshape(batch // 2, 2, 2 * width).reshape(batch, 2 * width))


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(10):
        x = torch.randn(8, 7, 12)
        loss = F.cross_entropy(net(x), x[:, 0, :4].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
