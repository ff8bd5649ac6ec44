import torch
import torchsde

torch.manual_seed(0)


class SDE(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma(y).sigmoid()


sde = SDE()
noise = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=3)
out = torchsde.sdeint(sde, torch.ones(4, 3), torch.linspace(0, 1, 5), method="euler", dt=0.1, bm=noise)
out[-1].sum().backward()
print(out[-1].norm().item(), sde.mu.weight.grad.norm().item())
