# ok
# evidence: both groups peaked: True, loss went down: True
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class TrainCfg:
    patches: int = 6
    dim: int = 12
    steps: int = 40
    max_lr: tuple = (5e-3, 2e-2)
    batch: int = 32


class MixerBlock(nn.Module):
    def __init__(self, patches, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.channel = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.token(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(MixerBlock(cfg.patches, cfg.dim), MixerBlock(cfg.patches, cfg.dim))
        self.head = nn.Linear(cfg.dim, 2)

    def forward(self, x):
        return self.head(self.body(x).mean(1))


def main():
    torch.manual_seed(55)
    cfg = TrainCfg()
    model = Mixer(cfg)
    opt = torch.optim.SGD([{"params": model.body.parameters()}, {"params": model.head.parameters()}],
                          lr=1e-3, momentum=0.9)
    # momentum is cycled inversely to the learning rate; the first lr is max_lr / 25
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=list(cfg.max_lr), total_steps=cfg.steps, pct_start=0.3)
    peaks, losses = [0.0, 0.0], []
    for step in range(cfg.steps):
        y = torch.randint(0, 2, (cfg.batch,))
        x = torch.randn(cfg.batch, cfg.patches, cfg.dim)
        x[:, 2, :4] += 1.5 * (2 * y.float() - 1)[:, None]
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        peaks = [max(p, g["lr"]) for p, g in zip(peaks, opt.param_groups)]
        sched.step()
        losses.append(loss.item())
        if step % 8 == 0:
            print(f"{step:3d} loss {loss.item():.4f} lrs {[round(g['lr'], 5) for g in opt.param_groups]}")
    peaked = all(abs(p - m) < 0.1 * m for p, m in zip(peaks, cfg.max_lr))
    print(f"both groups peaked: {peaked}, loss went down: {sum(losses[-8:]) < sum(losses[:8])}")


if __name__ == "__main__":
    main()
