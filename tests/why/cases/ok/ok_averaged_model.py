# ok
# evidence: True
import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
loader = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(5)]
model = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
swa = AveragedModel(model)
swa_sched = SWALR(opt, swa_lr=0.02)
for epoch in range(3):
    for xb, yb in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    swa.update_parameters(model)
    swa_sched.step()
update_bn(loader, swa)
pred = swa(loader[0][0])
print("evidence:", pred.shape == (8, 1))
