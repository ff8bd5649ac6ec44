# input-ignored | argument
# evidence: done
"""Time rounded away."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Eps(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        t = (t // 100).float()[:, None]  #C
        return self.net(torch.cat([x, t], 1))


def main():
    torch.manual_seed(0)
    betas = torch.linspace(1e-4, 0.05, 100)
    bar = torch.cumprod(1 - betas, 0)
    model = Eps()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(80):
        angle = torch.rand(64) * 6.28
        x0 = torch.stack([angle.cos(), angle.sin()], 1)
        t = torch.randint(0, 100, (64,))
        noise = torch.randn_like(x0)
        a = bar[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        loss = F.mse_loss(model(xt, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
