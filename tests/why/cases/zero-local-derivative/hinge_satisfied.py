# zero-local-derivative | zero | clamp/relu, satisfied
# evidence: True
import torch

torch.manual_seed(0)
w = torch.tensor([2.0, -1.0], requires_grad=True)
x = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
y = torch.tensor([1.0, -1.0])
margin = y * (x @ w)
loss = torch.clamp(1 - margin, min=0).mean()  #C
loss.backward()
g = w.grad  #R
print("evidence:", bool((g == 0).all()))
