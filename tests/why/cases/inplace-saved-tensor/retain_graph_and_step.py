# inplace-saved-tensor | error | in-place/in place/inplace, step
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
cell, head = nn.RNNCell(2, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(1, 3)
failed = False
for x in torch.randn(3, 1, 2):
    h = cell(x, h)
    loss = head(h).pow(2).sum()
    opt.zero_grad()
    try:
        loss.backward(retain_graph=True)  #R
    except RuntimeError as e:
        failed = "inplace operation" in str(e)
        break
    opt.step()  #C
print("evidence:", failed)
