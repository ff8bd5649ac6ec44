# checkpoint-no-grad-input, unused-in-loss, grad-mode-off | none | checkpoint/use_reentrant/requires_grad
# evidence: True
import warnings
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
torch.manual_seed(0)
block, head = nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(4, 3)
h = checkpoint(block, x, use_reentrant=True)  #C
loss = head(h).mean()
loss.backward()
g = block.weight.grad  #R
print("evidence:", g is None)
