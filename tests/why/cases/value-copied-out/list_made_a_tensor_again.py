# value-copied-out | not-tracked | tolist, stay in tensors/new tensor/new leaf
# evidence: True
import torch

prices = torch.tensor([1.0, 4.0, 9.0], requires_grad=True)
roots = torch.tensor([p ** 0.5 for p in prices.tolist()])  #C
print("evidence:", roots.grad_fn is None)  #R
