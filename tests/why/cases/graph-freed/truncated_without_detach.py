# graph-freed | error | detach, freed/second time
# evidence: 1
import torch
from torch import nn

torch.manual_seed(0)
lstm = nn.LSTM(2, 3, batch_first=True)
head = nn.Linear(3, 1)
opt = torch.optim.Adam(list(lstm.parameters()) + list(head.parameters()))
state = None
steps = 0
try:
    for chunk in torch.randn(3, 1, 4, 2):
        out, state = lstm(chunk, state)  #C
        loss = head(out).pow(2).mean()
        opt.zero_grad()
        loss.backward()  #R
        opt.step()
        steps += 1
except RuntimeError:
    pass
print("evidence:", steps)
