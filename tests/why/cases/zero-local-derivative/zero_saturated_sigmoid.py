# zero-local-derivative | zero | sigmoid, saturat
# evidence: True
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
x = torch.tensor([20.0, 30.0])
p = torch.sigmoid(w * x)  #C
loss = ((p - 0.5) ** 2).sum()
loss.backward()
g = w.grad  #R
print("evidence:", bool((g == 0).all()))
