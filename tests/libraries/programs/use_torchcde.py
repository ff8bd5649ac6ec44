import torch
import torchcde

torch.manual_seed(0)
t = torch.linspace(0, 1, 6)
path = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(torch.randn(2, 6, 3), t), t)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 12)

    def forward(self, t, z):
        return self.net(z).tanh().view(-1, 4, 3)


field = Field()
out = torchcde.cdeint(X=path, func=field, z0=torch.zeros(2, 4), t=t[[0, -1]], adjoint=False, method="rk4", options={"step_size": 0.2})
out.sum().backward()
print(out.norm().item(), field.net.weight.grad.norm().item())
