# clip-misplaced | wrong-value | unscale
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(8, 4), torch.randn(8, 1)
for _ in range(3):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  #R #C
    scaler.step(opt)
    scaler.update()
print("evidence:", net.weight.grad.norm().item() < 1e-3)
