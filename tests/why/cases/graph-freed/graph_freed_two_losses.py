# graph-freed | error | second time/freed, retain_graph/sum/together
# evidence: True
import torch
import torch.nn as nn

body, a, b = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
h = torch.tanh(body(torch.randn(4, 3)))  #C
loss_a, loss_b = a(h).mean(), b(h).mean()
loss_a.backward()
failed = False
try:
    loss_b.backward()  #R
except RuntimeError as e:
    failed = "second time" in str(e)
print("evidence:", failed)
