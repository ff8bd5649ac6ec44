# detach, parameter-rewrapped, value-copied-out, unused-in-loss | none | data/detach/history/cut/not depend
# evidence: True
import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
target_net = nn.Linear(3, 2)
hyper = nn.Linear(4, 8)
opt = torch.optim.Adam(hyper.parameters(), lr=1e-2)
code = torch.randn(4)
for _ in range(2):
    vec = hyper(code)
    vector_to_parameters(vec, target_net.parameters())  #C
    loss = target_net(torch.randn(5, 3)).pow(2).mean()  #C
    opt.zero_grad()
    loss.backward()  #C
    opt.step()
print("evidence:", hyper.weight.grad is None)  #R
