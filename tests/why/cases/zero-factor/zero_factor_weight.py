# zero-factor | zero | zero, weight/factor/multipl
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
main, aux = nn.Linear(3, 1), nn.Linear(3, 1)
alpha = 0.0
x = torch.randn(4, 3)
loss = main(x).pow(2).mean() + alpha * aux(x).pow(2).mean()  #C
loss.backward()
g = aux.weight.grad  #R
print("evidence:", bool((g == 0).all()))
