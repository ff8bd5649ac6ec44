# value-copied-out | item
# evidence: logit scale moved: False
# parameters: logit_scale
from dataclasses import dataclass
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    img_dim: int = 20
    txt_dim: int = 14
    emb: int = 16
    batch: int = 32
    steps: int = 40
    lr: float = 2e-3
    seed: int = 7


class DualEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.image_proj = nn.Sequential(nn.Linear(cfg.img_dim, 32), nn.GELU(), nn.Linear(32, cfg.emb))
        self.text_proj = nn.Sequential(nn.Linear(cfg.txt_dim, 32), nn.GELU(), nn.Linear(32, cfg.emb))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, txt):
        u = F.normalize(self.image_proj(img), dim=-1)
        v = F.normalize(self.text_proj(txt), dim=-1)
        scale = min(self.logit_scale.exp().item(), 100.0)  #C
        return scale * (u @ v.t())


class PairSource:
    def __init__(self, cfg):
        self.cfg = cfg
        self.a = torch.randn(6, cfg.img_dim)
        self.b = torch.randn(6, cfg.txt_dim)

    def batch(self):
        z = torch.randn(self.cfg.batch, 6)
        img = z @ self.a + 0.1 * torch.randn(self.cfg.batch, self.cfg.img_dim)
        txt = z @ self.b + 0.1 * torch.randn(self.cfg.batch, self.cfg.txt_dim)
        return img, txt


def clip_loss(logits):
    target = torch.arange(logits.size(0))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


def train(cfg):
    torch.manual_seed(cfg.seed)
    source, model = PairSource(cfg), DualEncoder(cfg)
    start = model.logit_scale.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        logits = model(*source.batch())
        loss = clip_loss(logits)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            acc = (logits.argmax(1) == torch.arange(cfg.batch)).float().mean()
            print(f"step {step:3d} loss {loss.item():.3f} acc {acc.item():.2f}")
    return bool((model.logit_scale != start).item())


if __name__ == "__main__":
    print("logit scale moved:", train(Config()))
