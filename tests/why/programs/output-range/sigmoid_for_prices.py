# output-range | sigmoid, outside/beyond
# evidence: largest prediction below 1: True
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 4)
price = x.sum(1, keepdim=True) * 2 + 3
for step in range(12):
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, price)  #C
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("evidence: largest prediction below 1:", bool(prediction.max() < 1))
