# grad-cleared | none | none/clear
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)


def fused_step(p):
    with torch.no_grad():
        p -= 0.1 * p.grad
    p.grad = None  #C


for p in net.parameters():
    p.register_post_accumulate_grad_hook(fused_step)
net(torch.ones(3, 2)).mean().backward()
g = net.weight.grad  #R
print("evidence:", g is None)
