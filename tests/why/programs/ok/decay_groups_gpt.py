# ok
# evidence: groups: 2, all tensors held once: True, loss went down: True
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab: int = 16
    block: int = 12
    dim: int = 24
    heads: int = 4
    layers: int = 2
    lr: float = 3e-3
    steps: int = 40


class CausalSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.qkv, self.proj = nn.Linear(cfg.dim, 3 * cfg.dim), nn.Linear(cfg.dim, cfg.dim)
        self.register_buffer("mask", torch.tril(torch.ones(cfg.block, cfg.block)).bool())

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))
        att = (q @ k.transpose(-2, -1)) / (c // self.heads) ** 0.5
        att = att.masked_fill(~self.mask[:t, :t], float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attn = CausalSelfAttention(cfg)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(cfg.vocab, cfg.dim), nn.Embedding(cfg.block, cfg.dim)
        self.blocks = nn.Sequential(*[Block(cfg) for _ in range(cfg.layers)])
        self.ln_f = nn.LayerNorm(cfg.dim)
        self.lm_head = nn.Linear(cfg.dim, cfg.vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.1)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))


def configure(model, cfg):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}],
                             lr=cfg.lr, betas=(0.9, 0.95))


def main():
    torch.manual_seed(1337)
    cfg = GPTConfig()
    model = GPT(cfg)
    opt = configure(model, cfg)
    losses = []
    for step in range(cfg.steps):
        start = torch.randint(0, cfg.vocab, (16, 1))
        stride = torch.randint(1, 4, (16, 1))
        seq = (start + stride * torch.arange(10)) % cfg.vocab     # shorter than the block: last positions unused
        logits = model(seq[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, cfg.vocab), seq[:, 1:].reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} loss {losses[-1]:.3f}")
    held = [id(p) for g in opt.param_groups for p in g["params"]]
    once = len(held) == len(set(held)) == len(list(model.parameters()))
    print(f"groups: {len(opt.param_groups)}, all tensors held once: {once}, "
          f"loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
