# graph-freed | error | second time/freed, retain_graph/recompute/again/anew
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
pred = torch.tanh(net(x))  #C
failed = False
for i in range(2):
    loss = (pred ** 2).mean()
    opt.zero_grad()
    try:
        loss.backward()  #R
    except RuntimeError as e:
        failed = "second time" in str(e)
print("evidence:", failed)
