# ok
# evidence: tensor([[2., 2.], [1., 1.]])
import torch

A = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
x = torch.ones(2, 2, requires_grad=True)
torch.sparse.mm(A, x).sum().backward()
first = x.grad.clone()
x.grad = None
(A @ x).sum().backward()
assert torch.equal(first, x.grad)
print("evidence:", str(x.grad).replace("\n       ", ""))
