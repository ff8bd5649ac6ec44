import torch
from ncps.torch import CfC, LTC
from ncps.wirings import AutoNCP

torch.manual_seed(0)
wiring = AutoNCP(12, 2)
for model in (LTC(3, wiring, batch_first=True), CfC(3, 10, proj_size=2), CfC(3, AutoNCP(12, 2))):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(4, 6, 3)
    for _ in range(2):
        out, state = model(x)
        loss = (out - x.sum(-1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(model).__name__, loss.item(), out.shape)
