# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.LSTM(3, 4, batch_first=True)
head = nn.Linear(4, 1)
params = list(model.parameters()) + list(head.parameters())
opt = torch.optim.RMSprop(params, lr=0.01)
sched = torch.optim.lr_scheduler.StepLR(opt, 2)
for epoch in range(3):
    out, _ = model(torch.randn(4, 6, 3))
    loss = head(out[:, -1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    total = nn.utils.clip_grad_norm_(params, 0.5)
    norms = {i: p.grad.norm().item() for i, p in enumerate(params) if p.grad is not None}
    opt.step()
    sched.step()
print("evidence:", len(norms) == len(params))
