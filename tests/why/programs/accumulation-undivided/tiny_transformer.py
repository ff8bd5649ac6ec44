# accumulation-undivided, grad-accumulated | accum, divid/averag/sum/scaled/times
# evidence: gradient weight of one update window: 8
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 16
    dim: int = 16
    heads: int = 2
    micro_batch: int = 4
    accum_steps: int = 8
    updates: int = 20
    lr: float = 0.3
    z_loss: float = 1e-4


class CopyTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(torch.randn(8, cfg.dim) * 0.1)
        self.attn = nn.MultiheadAttention(cfg.dim, cfg.heads, batch_first=True)
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, idx):
        h = self.tok(idx) + self.pos
        a, _ = self.attn(h, h, h, need_weights=False)
        return self.head(self.norm(h + a))


def train(cfg):
    model = CopyTransformer(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    optimizer.zero_grad()
    window, backpropagated = [], 0.0
    for micro in range(cfg.updates * cfg.accum_steps):
        idx = torch.randint(0, cfg.vocab, (cfg.micro_batch, 8))
        logits = model(idx)
        ce = F.cross_entropy(logits.flatten(0, 1), idx.flip(1).flatten())  #C
        loss = ce + cfg.z_loss * logits.logsumexp(-1).pow(2).mean()
        loss.backward()  #C
        window.append(ce.item())
        backpropagated += loss.item()
        if (micro + 1) % cfg.accum_steps == 0:
            optimizer.step()  #C
            optimizer.zero_grad()
            mean = sum(window) / len(window)
            weight = round(backpropagated / mean)
            print(f"update {(micro + 1) // cfg.accum_steps:2d} loss {mean:.4f}")
            window, backpropagated = [], 0.0
    return weight


def main():
    torch.manual_seed(6)
    weight = train(Config())
    print("gradient weight of one update window:", weight)


if __name__ == "__main__":
    main()
