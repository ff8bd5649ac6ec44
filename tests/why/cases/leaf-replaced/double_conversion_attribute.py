# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True
import torch

theta = torch.tensor([0.1, 0.2], requires_grad=True)
theta = theta.to(torch.float64)  #C
energy = (theta.sin() ** 2).sum()
energy.backward()
grad = theta.grad  #R
print("evidence:", grad is None)
