# detach | none | detach
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(4, 2)
        self.logvar = nn.Linear(4, 2)
        self.out = nn.Linear(2, 4)
        self.stats = {}

    def encode(self, x):
        mu, logvar = self.mu(x), self.logvar(x)
        self.stats["mu"] = mu.mean()
        return mu, logvar

    def forward(self, x):
        mu, logvar = self.encode(x)
        std = torch.exp(0.5 * logvar).detach()  #C
        z = mu + std * torch.randn_like(std)
        return self.out(z), mu


m = Model()
x = torch.randn(6, 4)
rec, mu = m(x)
loss = nn.functional.mse_loss(rec, x) + mu.pow(2).mean()
loss.backward()
g = m.logvar.weight.grad  #R
print("evidence:", g is None, m.mu.weight.grad is not None)
