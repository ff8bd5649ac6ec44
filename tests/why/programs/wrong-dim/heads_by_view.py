# wrong-dim | reshape
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=24, heads=3):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, self.heads, length, width // self.heads)  #C

    def forward(self, x):
        y = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)))
        return self.out(y.transpose(1, 2).reshape(x.shape))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Attention(), nn.Linear(24, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        x = torch.randn(6, 11, 24)
        loss = F.cross_entropy(model(x).mean(1), x[:, 0, :4].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
