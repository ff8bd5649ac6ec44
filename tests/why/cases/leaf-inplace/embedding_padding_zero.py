# leaf-inplace | error | leaf, no_grad
# evidence: True
import torch
from torch import nn


class Emb(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, d))
        self.reset_padding()

    def reset_padding(self):
        self.weight[0].zero_()  #R #C


hit = False
try:
    Emb(5, 2)
except RuntimeError as e:
    hit = "leaf Variable" in str(e)
print("evidence:", hit)
