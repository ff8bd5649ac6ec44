import torch
from pytorch_tcn import TCN

torch.manual_seed(0)
model = TCN(num_inputs=3, num_channels=[8, 8], kernel_size=3, dropout=0.1, causal=True, use_norm="weight_norm", use_skip_connections=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(4, 3, 20)
for _ in range(3):
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
