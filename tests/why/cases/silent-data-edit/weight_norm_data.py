# silent-data-edit | wrong-value | .data
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
enc = nn.Linear(3, 4, bias=False)
dec = nn.Linear(4, 3, bias=False)
x = torch.randn(6, 3)
h = torch.tanh(enc(x))
rec = dec(h)
want = torch.autograd.grad((rec - x).pow(2).mean(), enc.weight, retain_graph=True)[0]
dec.weight.data /= dec.weight.data.norm(dim=0, keepdim=True)  #C
loss = (rec - x).pow(2).mean()
loss.backward()
g = enc.weight.grad  #R
print("evidence:", not torch.allclose(g, want))
