# no-create-graph | not-tracked | create_graph
# evidence: False
import torch

x = torch.randn(3, requires_grad=True)
loss = (x ** 3).sum()
loss.backward()  #C
flag = x.grad.requires_grad  #R
print("evidence:", flag)
