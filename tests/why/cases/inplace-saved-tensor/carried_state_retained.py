# inplace-saved-tensor | error | state = state.detach()
# evidence: RuntimeError
import torch
from torch import nn

cell, out = nn.GRUCell(3, 5), nn.Linear(5, 1)
opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], 0.1)
state = torch.zeros(2, 5)
try:
    for step in range(3):
        state = cell(torch.randn(2, 3), state)  #C
        loss = out(state).pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)  #R
        opt.step()
except RuntimeError as error:
    print("evidence:", type(error).__name__)
