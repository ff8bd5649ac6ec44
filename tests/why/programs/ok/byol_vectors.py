# ok
# evidence: online moved: True, target follows online: True, loss went down: True
import copy

import torch
import torch.nn.functional as F
from torch import nn


def mlp(i, h, o, bias=False):
    return nn.Sequential(nn.Linear(i, h, bias=False), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o, bias=bias))


class BYOL(nn.Module):
    def __init__(self, d=16, h=32, o=12, tau=0.95):
        super().__init__()
        self.online = nn.Sequential(mlp(d, h, h), mlp(h, h, o))
        self.predictor = mlp(o, h, o, bias=True)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    def regression(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=1)
        with torch.no_grad():
            z = F.normalize(self.target(b), dim=1)
        return (2 - 2 * (p * z).sum(1)).mean()

    def forward(self, a, b):
        return 0.5 * (self.regression(a, b) + self.regression(b, a))

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(self.tau).add_(o, alpha=1 - self.tau)


def views(x):
    def aug(v):
        keep = (torch.rand_like(v) > 0.1).float()
        return v * keep + 0.1 * torch.randn_like(v)
    return aug(x), aug(x)


def main():
    torch.manual_seed(17)
    data = torch.randn(256, 4) @ torch.randn(4, 16)
    model = BYOL()
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    online0 = model.online[0][0].weight.detach().clone()
    target0 = model.target[0][0].weight.detach().clone()
    losses = []
    for epoch in range(8):
        order = torch.randperm(256)
        for i in range(0, 256, 64):
            a, b = views(data[order[i:i + 64]])
            loss = model(a, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            model.update_target()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {losses[-1]:.4f}")
    w_o, w_t = model.online[0][0].weight.detach(), model.target[0][0].weight.detach()
    follows = (w_t - w_o).norm() < (target0 - w_o).norm()
    print(f"online moved: {not torch.equal(online0, w_o)}, target follows online: {bool(follows)}, "
          f"loss went down: {sum(losses[-4:]) < sum(losses[:4])}")


if __name__ == "__main__":
    main()
