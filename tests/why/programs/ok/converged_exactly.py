# ok |
# evidence: True
# A line through three points is found exactly: then steps round to nothing, as they should.
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
x = torch.tensor([[-1.0], [0.0], [1.0]])
noise = torch.zeros(40, 1)
for step in range(400):
    before = model.weight.item()
    batch = x[torch.randperm(3)]
    optimizer.zero_grad()
    nn.functional.mse_loss(model(batch), 2 * batch + 1).backward()
    optimizer.step()
print("evidence:", model.weight.item() == before)
