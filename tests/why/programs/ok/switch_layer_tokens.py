# ok
# evidence: idle experts seen: True, loss went down: True
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class MoEConfig:
    vocab: int = 16
    dim: int = 16
    experts: int = 6
    top_k: int = 2
    seq: int = 4
    batch: int = 3
    steps: int = 50
    lr: float = 8e-3
    z_weight: float = 1e-3


class SparseFFN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.k = cfg.top_k
        self.gate = nn.Linear(cfg.dim, cfg.experts, bias=False)
        self.w_in = nn.ModuleList(nn.Linear(cfg.dim, 2 * cfg.dim) for _ in range(cfg.experts))
        self.w_out = nn.ModuleList(nn.Linear(2 * cfg.dim, cfg.dim) for _ in range(cfg.experts))
        self.last_idle = 0

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        logits = self.gate(flat)
        top, index = logits.topk(self.k, dim=-1)
        weight = top.softmax(-1)
        out = torch.zeros_like(flat)
        idle = 0
        for e in range(len(self.w_in)):
            token, slot = (index == e).nonzero(as_tuple=True)
            if token.numel() == 0:
                idle += 1
                continue
            y = self.w_out[e](F.silu(self.w_in[e](flat[token])))
            out = out.index_add(0, token, y * weight[token, slot].unsqueeze(-1))
        self.last_idle = idle
        z_loss = torch.logsumexp(logits, dim=-1).pow(2).mean()
        return out.view_as(x), z_loss


class TokenModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.norm = nn.LayerNorm(cfg.dim)
        self.ffn = SparseFFN(cfg)
        self.lm = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids):
        h = self.tok(ids)
        y, z = self.ffn(self.norm(h))
        return self.lm(h + y), z


def main():
    torch.manual_seed(13)
    cfg = MoEConfig()
    model = TokenModel(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    idle_steps, losses = 0, []
    for step in range(cfg.steps):
        ids = torch.randint(0, cfg.vocab, (cfg.batch, cfg.seq))
        target = (3 * ids + 1) % cfg.vocab
        logits, z = model(ids)
        ce = F.cross_entropy(logits.reshape(-1, cfg.vocab), target.reshape(-1))
        loss = ce + cfg.z_weight * z
        opt.zero_grad()
        loss.backward()
        opt.step()
        idle_steps += model.ffn.last_idle > 0
        losses.append(ce.item())
        if step % 10 == 0:
            print(f"{step:3d} ce {ce.item():.3f} idle {model.ffn.last_idle}")
    print(f"idle experts seen: {idle_steps > 0}, loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
