import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t, y):
        return self.net(y ** 3)


field, t = Field(), torch.linspace(0, 1, 5)
for solve, options in ((odeint, {"method": "dopri5"}), (odeint, {"method": "rk4"}), (odeint_adjoint, {"method": "dopri5"})):
    field.zero_grad()
    out = solve(field, torch.tensor([[2.0, 0.0]]), t, **options)
    out[-1].sum().backward()
    print(out[-1].norm().item(), sum(p.grad.norm().item() for p in field.parameters()))
