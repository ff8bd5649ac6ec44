# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: tensor([9., 9.])
import torch

w = torch.zeros(2, requires_grad=True)
for epoch in range(3):
    loss = (3 * w + 1).sum()
    loss.backward()  #C
g = w.grad  #R
print("evidence:", g)
