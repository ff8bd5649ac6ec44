import torch
from adan_pytorch import Adan

torch.manual_seed(0)
model = torch.nn.Linear(6, 1)
optimizer = Adan(model.parameters(), lr=1e-2)
x = torch.randn(16, 6)
for _ in range(5):
    loss = (model(x)[:, 0] - x.sum(1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
