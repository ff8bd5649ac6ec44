# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
body, ha, hb = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 2)
log_var = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([*body.parameters(), *ha.parameters(), *hb.parameters(), log_var], lr=1e-2)
x = torch.randn(16, 4)
ya, yb = torch.randn(16, 1), torch.randint(0, 2, (16,))
for _ in range(3):
    h = torch.tanh(body(x))
    la = nn.functional.mse_loss(ha(h), ya)
    lb = nn.functional.cross_entropy(hb(h), yb)
    loss = (torch.exp(-log_var[0]) * la + torch.exp(-log_var[1]) * lb + log_var.sum()) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    print({"a": la.item() > 0, "b": lb.item() > 0})
g = log_var.grad
print("evidence:", g is not None)
