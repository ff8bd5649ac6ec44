# zero-local-derivative | zero | floor, flat/zero/0
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)


class Quantise(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.levels = levels

    def forward(self, x):
        return torch.floor(x * self.levels) / self.levels  #C


enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.rand(9, 4)
loss = (dec(Quantise(16)(torch.sigmoid(enc(x)))) - x).pow(2).mean()  #C
loss.backward()
g = enc.weight.grad  #R
print("evidence:", bool((g == 0).all()), )
