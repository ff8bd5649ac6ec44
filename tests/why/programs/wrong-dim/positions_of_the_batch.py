# wrong-dim | reverse order
# evidence: done
"""Positions of the batch."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class PositionalEncoding(nn.Module):
    def __init__(self, d, longest=64):
        super().__init__()
        pe = torch.zeros(longest, d)
        pos = torch.arange(longest).float()[:, None]
        div = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe[:, None])

    def forward(self, x):
        return x + self.pe[:x.size(0)]  #C


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 32)
        self.pos = PositionalEncoding(32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(32, 20)

    def forward(self, x):
        return self.out(self.enc(self.pos(self.emb(x))))


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(60):
        x = torch.randint(0, 20, (24, 10))
        loss = F.cross_entropy(net(x).flatten(0, 1), x.flip(1).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
