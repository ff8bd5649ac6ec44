# ok |
# evidence: torch.bfloat16
# autocast works, and is left for a part that needs precision.
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
for step in range(12):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x[batch])
        with torch.autocast("cpu", enabled=False):
            loss = nn.functional.mse_loss(out.float(), y[batch])
    loss.backward()
    optimizer.step()
print("evidence:", out.dtype)
