# ok
# evidence: True True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ds = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 5)
best = float("inf")
for epoch in range(3):
    model.train()
    running, correct = 0.0, 0
    for xb, yb in DataLoader(ds, batch_size=10, shuffle=True):
        opt.zero_grad()
        out = model(xb)
        loss = nn.functional.cross_entropy(out, yb)
        loss.backward()
        opt.step()
        running += loss.item() * len(xb)
        correct += (out.argmax(1) == yb).sum().item()
    sched.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.cross_entropy(model(ds.tensors[0]), ds.tensors[1])
    best = min(best, val.item())
norms = [p.grad.norm().item() for p in model.parameters()]
print("evidence:", len(norms) == 6, not val.requires_grad)
