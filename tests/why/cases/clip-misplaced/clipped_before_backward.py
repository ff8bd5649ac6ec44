# clip-misplaced | wrong-value | backward
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn = nn.GRU(3, 8, batch_first=True)
head = nn.Linear(8, 1)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.SGD(params, lr=0.1)
x, y = torch.randn(4, 7, 3) * 10, torch.randn(4, 1) * 1000
for epoch in range(4):
    opt.zero_grad()
    out, h = rnn(x)
    loss = nn.functional.mse_loss(head(out[:, -1]), y)
    torch.nn.utils.clip_grad_norm_(params, 1.0)  #R #C
    loss.backward()
    norm = head.weight.grad.norm().item()
    opt.step()
print("evidence:", norm > 1.0)
