# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(2, 4, batch_first=True)
for p in rnn.parameters():
    p.register_hook(lambda g: torch.clamp(g, -0.01, 0.01))
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
for _ in range(2):
    out, _ = rnn(torch.randn(3, 6, 2) * 5)
    opt.zero_grad()
    out.pow(2).sum().backward()
    biggest = max(p.grad.abs().max().item() for p in rnn.parameters())
    opt.step()
print("evidence:", biggest <= 0.0101)
