# ok
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
enc = nn.Linear(5, 3)
adv = nn.Linear(3, 2)
task = nn.Linear(3, 1)
opt_main = torch.optim.Adam([*enc.parameters(), *task.parameters()], lr=1e-2)
opt_adv = torch.optim.Adam(adv.parameters(), lr=1e-2)
x, y, d = torch.randn(20, 5), torch.randn(20, 1), torch.randint(0, 2, (20,))
for step in range(4):
    z = enc(x)
    opt_adv.zero_grad()
    nn.functional.cross_entropy(adv(z.detach()), d).backward()
    opt_adv.step()

    for p in adv.parameters():
        p.requires_grad_(False)
    opt_main.zero_grad()
    loss = nn.functional.mse_loss(task(z), y) - 0.1 * nn.functional.cross_entropy(adv(z), d)
    loss.backward()
    opt_main.step()
    for p in adv.parameters():
        p.requires_grad_(True)
g = adv.weight.grad
print("evidence:", g is not None, enc.weight.grad is not None)
