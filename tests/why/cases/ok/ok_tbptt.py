# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn, head = nn.GRU(2, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(1, 3, 4)
for chunk in torch.randn(3, 5, 3, 2):
    out, h = rnn(chunk, h)
    loss = head(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    h = h.detach()
print("evidence:", rnn.weight_ih_l0.grad is not None, )
