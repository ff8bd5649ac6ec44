# value-copied-out | error | item
# evidence: 'float' object has no attribute 'backward'
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(4, 3)), torch.randint(0, 2, (4,)))
    total += loss.item()  #C
try:
    total.backward()  #R
    said = ""
except AttributeError as e:
    said = str(e)
print("evidence:", said)
