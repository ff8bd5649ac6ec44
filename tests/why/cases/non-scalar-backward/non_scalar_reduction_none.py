# non-scalar-backward | error | scalar/one element, gradient, mean/sum
# evidence: True
import torch
import torch.nn as nn

criterion = nn.CrossEntropyLoss(reduction="none")
net = nn.Linear(3, 2)
loss = criterion(net(torch.randn(4, 3)), torch.tensor([0, 1, 0, 1]))  #C
failed = False
try:
    loss.backward()  #R
except RuntimeError as e:
    failed = True
print("evidence:", failed)
