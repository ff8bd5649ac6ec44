# ok
# evidence: log variances moved apart: True, errors went down: True
import torch
from torch import nn


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 32), nn.GELU())
        self.position, self.angle = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.position(h), self.angle(h)


class UncertaintyLoss(nn.Module):
    """Kendall et al.: the task weights are learned along with the network."""

    def __init__(self, tasks):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (losses * torch.exp(-self.log_var) + self.log_var).sum()


def main():
    torch.manual_seed(67)
    proj = torch.randn(9, 3) / 3
    net, weighting = PoseNet(), UncertaintyLoss(2)
    params = list(net.parameters()) + list(weighting.parameters())
    opt = torch.optim.Adam(params, lr=1e-2)
    history = []
    for step in range(80):
        x = torch.randn(48, 9)
        pos = 4.0 * torch.tanh(x @ proj) + torch.randn(48, 3)
        ang = 0.3 * torch.sin(x[:, :1])
        p, a = net(x)
        losses = [nn.functional.mse_loss(p, pos), nn.functional.mse_loss(a, ang)]
        total = weighting(losses)
        opt.zero_grad()
        total.backward()
        opt.step()
        history.append([l.item() for l in losses])
        if step % 20 == 19:
            print(f"step {step + 1} total {total.item():+.3f} log variances "
                  f"{[round(v, 2) for v in weighting.log_var.tolist()]}")
    lv = weighting.log_var.tolist()
    down = all(sum(h[i] for h in history[-10:]) < sum(h[i] for h in history[:10]) for i in (0, 1))
    print(f"log variances moved apart: {lv[0] > lv[1]}, errors went down: {down}")


if __name__ == "__main__":
    main()
