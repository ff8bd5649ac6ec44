# grad-accumulated | wrong-value | accumulat/add, zero_grad
# evidence: 5
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 3), torch.randn(16, 1)
steps = 0
for epoch in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  #R #C
    opt.step()
    steps += 1
print("evidence:", steps)
