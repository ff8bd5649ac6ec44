# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
ae_enc, ae_dec = nn.Linear(6, 2), nn.Linear(2, 6)
x, y = torch.randn(20, 6), torch.randint(0, 2, (20,))
o1 = torch.optim.Adam([*ae_enc.parameters(), *ae_dec.parameters()], lr=1e-2)
for _ in range(5):
    o1.zero_grad()
    nn.functional.mse_loss(ae_dec(torch.tanh(ae_enc(x))), x).backward()
    o1.step()
ae_enc.requires_grad_(False)
ae_enc.zero_grad()
clf = nn.Linear(2, 2)
o2 = torch.optim.Adam(clf.parameters(), lr=1e-2)
for _ in range(5):
    o2.zero_grad()
    nn.functional.cross_entropy(clf(torch.tanh(ae_enc(x))), y).backward()
    o2.step()
print("encoder grad", ae_enc.weight.grad, "clf grad", clf.weight.grad.norm().item())
print("evidence:", ae_enc.weight.grad is None)
