# no-create-graph | none, error | create_graph
# evidence: True
import torch

torch.manual_seed(0)
lr = torch.tensor(0.1, requires_grad=True)
w = torch.randn(3, requires_grad=True)
x, y = torch.randn(8, 3), torch.randn(8)
inner = ((x @ w - y) ** 2).mean()
g, = torch.autograd.grad(inner, w)  #C
penalty = (g ** 2).sum()
failed = False
try:
    torch.autograd.grad(penalty, w)  #R
except RuntimeError:
    failed = True
print("evidence:", failed)
