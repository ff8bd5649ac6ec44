import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO

torch.manual_seed(0)
x, y = torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)
for model in (FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2),
              TFNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, rank=0.5)):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for criterion in (LpLoss(d=2), H1Loss(d=2)):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(type(model).__name__, loss.item())
