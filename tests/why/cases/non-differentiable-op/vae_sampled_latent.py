# non-differentiable-op | none, zero | sample, rsample
# evidence: ['enc.weight', 'enc.bias']
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4)
        self.dec = nn.Linear(2, 6)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        q = Normal(mu, torch.exp(0.5 * logvar))
        z = q.sample()  #C
        return self.dec(z)


vae = VAE()
x = torch.randn(20, 6)
recon = vae(x)
loss = nn.functional.mse_loss(recon, x)
loss.backward()
dead = [n for n, p in vae.named_parameters() if p.grad is None]  #R
print("evidence:", dead)
