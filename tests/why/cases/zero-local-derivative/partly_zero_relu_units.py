# zero-local-derivative | partly-zero | relu, negative/dead
# evidence: [False, False, True, True, True, False]
import torch
import torch.nn as nn

torch.manual_seed(0)
hidden, out = nn.Linear(4, 6), nn.Linear(6, 1)
with torch.no_grad():
    hidden.bias.copy_(torch.tensor([2.0, 2.0, -9.0, -9.0, -9.0, 2.0]))  #C
loss = out(torch.relu(hidden(torch.rand(16, 4)))).mean()  #C
loss.backward()
g = hidden.weight.grad  #R
print("evidence:", (g == 0).all(dim=1).tolist())
