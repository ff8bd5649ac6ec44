import numpy as np, torch
from nbeats_pytorch.model import NBeatsNet

torch.manual_seed(0)
np.random.seed(0)
net = NBeatsNet(
    device=torch.device("cpu"),
    stack_types=(NBeatsNet.GENERIC_BLOCK, NBeatsNet.TREND_BLOCK, NBeatsNet.SEASONALITY_BLOCK),
    forecast_length=3,
    backcast_length=8,
    hidden_layer_units=16,
    nb_blocks_per_stack=1,
    thetas_dim=(4, 3, 4),
)
optimizer, x = torch.optim.Adam(net.parameters(), lr=1e-2), torch.randn(16, 8)
for _ in range(4):
    backcast, forecast = net(x)
    loss = (forecast - x[:, :3]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
