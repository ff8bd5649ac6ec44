# detach | not-tracked | .data, history/graph
# evidence: False
import torch

a = torch.ones(3, requires_grad=True)
b = a.data * 2  #C
tracked = b.requires_grad  #R
print("evidence:", tracked)
