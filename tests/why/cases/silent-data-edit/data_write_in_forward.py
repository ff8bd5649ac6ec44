# silent-data-edit | wrong-value | .data
# evidence: tensor([0., 0., 0.])
import torch
import torch.nn as nn


class Clip(nn.Module):
    def forward(self, h):
        out = h * h
        h.data.zero_()  #C
        return out


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = Clip()(x * 1.0)
y.sum().backward()
g = x.grad  #R
print("evidence:", g)
