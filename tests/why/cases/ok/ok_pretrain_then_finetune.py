# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
enc, dec, clf = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
x, y = torch.randn(12, 6), torch.randint(0, 2, (12,))
pre = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
for _ in range(3):
    pre.zero_grad()
    nn.functional.mse_loss(dec(torch.relu(enc(x))), x).backward()
    pre.step()
fine = torch.optim.Adam([*enc.parameters(), *clf.parameters()], lr=1e-3)
for _ in range(3):
    fine.zero_grad()
    nn.functional.cross_entropy(clf(torch.relu(enc(x))), y).backward()
    fine.step()
print("evidence:", enc.weight.grad is not None and clf.weight.grad is not None)
