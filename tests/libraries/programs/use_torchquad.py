import torch
from torchquad import MonteCarlo, Simpson, Trapezoid, set_up_backend

set_up_backend("torch", data_type="float64")
scale = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
for rule in (Simpson(), Trapezoid()):
    integral = rule.integrate(lambda x: torch.sin(scale * x[:, 0]) + torch.exp(x[:, 1]), dim=2, N=625,
                              integration_domain=[[0, 1], [-1, 1]], backend="torch")
    (gradient,) = torch.autograd.grad(integral, scale)
    print(type(rule).__name__, integral.item(), gradient.item())
print(MonteCarlo().integrate(lambda x: x[:, 0] ** 2, dim=1, N=1000, integration_domain=[[0, 1]], backend="torch", seed=0).item())
