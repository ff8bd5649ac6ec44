# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: tensor([8.])
import torch

x = torch.tensor([2.0], requires_grad=True)
y = (x ** 2).sum()
y.backward(retain_graph=True)
y.backward()  #C
g = x.grad  #R
print("evidence:", g)
