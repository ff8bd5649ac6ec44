# grad-accumulated | wrong-value | accumulat/add, zero_grad/none/clear
# evidence: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ds = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
loader = DataLoader(ds, batch_size=8)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=1e-6)
log = []
for epoch in range(2):
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()  #C
        opt.step()
        log.append(model.bias.grad.abs().item())  #R
print("evidence:", len(log) == 8)
