# non-differentiable-op | not-tracked | derivative/differentiable/indices/integer
# evidence: False
import torch
from torch import nn

scorer = nn.Linear(3, 1)
scores = scorer(torch.randn(8, 3)).squeeze(1)
best = scores.topk(3).indices  #C
chosen = best.float().mean()
tracked = chosen.requires_grad  #R
print("evidence:", tracked)
