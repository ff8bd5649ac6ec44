# weights-shared | memory/.data, copy
# evidence: the two encoders differ: False
import torch
from torch import nn

torch.manual_seed(0)
left, right, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(16, 1)
right.weight.data = left.weight.data  #C
optimizer = torch.optim.SGD([*left.parameters(), *right.parameters(), *head.parameters()], lr=0.05)
for step in range(8):
    a, b = torch.randn(16, 4), torch.randn(16, 4)
    loss = (head(torch.cat([left(a).tanh(), right(b).tanh()], 1)) - a.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("evidence: the two encoders differ:", not torch.equal(left.weight, right.weight))
