# clip-too-tight | clip, norm/small/tight/max_norm
# evidence: largest change of any weight below 1e-4: True
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 8
    length: int = 5
    dim: int = 16
    heads: int = 2
    lr: float = 0.2
    momentum: float = 0.9
    eps: float = 1e-7
    max_norm: float = 1.0
    steps: int = 50


class SortTransformer(nn.Module):
    """Reads a few digits and says, for each position, the digit of the sorted list."""

    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.position = nn.Parameter(0.1 * torch.randn(cfg.length, cfg.dim))
        self.attn = nn.MultiheadAttention(cfg.dim, cfg.heads, batch_first=True)
        self.norm1 = nn.LayerNorm(cfg.dim)
        self.norm2 = nn.LayerNorm(cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.GELU(), nn.Linear(2 * cfg.dim, cfg.dim))
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return self.head(x)


def sample(cfg, n=32):
    tokens = torch.randint(0, cfg.vocab, (n, cfg.length))
    return tokens, tokens.sort(dim=1).values


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.params = list(model.parameters())
        self.optimizer = torch.optim.SGD(self.params, lr=cfg.lr, momentum=cfg.momentum)

    def step(self):
        tokens, goal = sample(self.cfg)
        loss = F.cross_entropy(self.model(tokens).transpose(1, 2), goal)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, max_norm=self.cfg.eps)  #C
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    cfg = Config()
    model = SortTransformer(cfg)
    start = [p.detach().clone() for p in model.parameters()]
    trainer = Trainer(model, cfg)
    for i in range(cfg.steps):
        loss = trainer.step()
        if i % 10 == 9:
            print(f"step {i + 1}: loss {loss:.4f}")
    change = max((p.detach() - s).abs().max().item() for p, s in zip(model.parameters(), start))
    print("largest change of any weight below 1e-4:", change < 1e-4)


if __name__ == "__main__":
    main()
