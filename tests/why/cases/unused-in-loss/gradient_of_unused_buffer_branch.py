# unused-in-loss | none | loss
# evidence: ['skip.weight']
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, residual):
        super().__init__()
        self.residual = residual
        self.main = nn.Linear(3, 3, bias=False)
        self.skip = nn.Linear(3, 3, bias=False)

    def forward(self, x):
        out = torch.relu(self.main(x))
        if self.residual:
            out = out + self.skip(x)
        return out


b = Block(residual=False)
b(torch.randn(2, 3)).sum().backward()  #C
no_grad = [n for n, p in b.named_parameters() if p.grad is None]  #R
print("evidence:", no_grad)
