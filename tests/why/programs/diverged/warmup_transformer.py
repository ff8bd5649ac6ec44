# diverged | lr/learning rate
# evidence: loss stayed finite: False
import math
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


@dataclass
class Config:
    vocab: int = 16
    dim: int = 16
    length: int = 8
    lr: float = 0.3
    warmup: int = 5
    steps: int = 90
    seed: int = 2


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        att = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(x.size(-1)), dim=-1)
        x = x + self.proj(att @ v)
        return x + self.ff(x)


class CopyModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(0.1 * torch.randn(cfg.length, cfg.dim))
        self.blocks = nn.Sequential(Block(cfg.dim), Block(cfg.dim))
        self.out = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids):
        return self.out(self.blocks(self.tok(ids) + self.pos))


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    model = CopyModel(cfg)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    scheduler = LambdaLR(opt, lambda step: (step + 1) / cfg.warmup)  #C
    finite = True
    for step in range(cfg.steps):
        ids = torch.randint(0, cfg.vocab, (32, cfg.length))
        target = ids.flip(1)
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()  #C
        finite = finite and math.isfinite(loss.item())
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print("loss stayed finite:", finite)


if __name__ == "__main__":
    main()
