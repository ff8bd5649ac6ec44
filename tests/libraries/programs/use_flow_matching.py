import torch
from flow_matching.path import AffineProbPath, CondOTProbPath
from flow_matching.path.scheduler import CondOTScheduler, PolynomialConvexScheduler
from flow_matching.solver import ODESolver
from flow_matching.utils import ModelWrapper

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.SiLU(), torch.nn.Linear(16, 2))
path = AffineProbPath(scheduler=CondOTScheduler())
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    x1, x0, t = torch.randn(32, 2) + 2, torch.randn(32, 2), torch.rand(32)
    sample = path.sample(t=t, x_0=x0, x_1=x1)
    loss = (net(torch.cat([sample.x_t, sample.t[:, None]], 1)) - sample.dx_t).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())


class Wrapped(ModelWrapper):
    def forward(self, x, t, **extras):
        return self.model(torch.cat([x, t.expand(len(x), 1)], 1))


print(ODESolver(velocity_model=Wrapped(net)).sample(x_init=torch.randn(4, 2), method="midpoint", step_size=0.25).sum().item())
