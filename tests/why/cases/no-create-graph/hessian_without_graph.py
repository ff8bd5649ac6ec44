# no-create-graph | error | create_graph
# evidence: True
import torch

theta = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (theta ** 3).sum()
loss.backward()  #C
first = theta.grad
fail = False
try:
    torch.autograd.grad(first.sum(), theta)  #R
except RuntimeError as e:
    fail = "does not require grad" in str(e)
print("evidence:", fail)
