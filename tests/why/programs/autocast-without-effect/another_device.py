# autocast-without-effect | autocast
# evidence: torch.float32
# autocast is for another device than the one that computes.
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
    with torch.autocast("cuda", dtype=torch.bfloat16):  #C
        out = model(x[batch])
        loss = nn.functional.mse_loss(out, y[batch])
    loss.backward()
    optimizer.step()
print("evidence:", out.dtype)
