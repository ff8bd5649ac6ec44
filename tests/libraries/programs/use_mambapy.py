import torch
from mambapy.mamba import Mamba, MambaConfig

torch.manual_seed(0)
model = Mamba(MambaConfig(d_model=16, n_layers=2, d_state=4, d_conv=3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x = torch.randn(2, 9, 16)
for _ in range(3):
    loss = (model(x)[:, :-1] - x[:, 1:]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
