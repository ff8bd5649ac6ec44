# gradient-shape-mismatch | error | shape, gradient
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
x = torch.randn(5, 4, requires_grad=True)
out = net(x)
weights = torch.ones(5)  #C
try:
    out.backward(gradient=weights)  #R #C
    msg = "fine"
except RuntimeError as err:
    msg = str(err)
print("evidence:", msg.startswith("Mismatch in shape"))
