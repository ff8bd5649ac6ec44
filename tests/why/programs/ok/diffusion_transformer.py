# ok
# evidence: done
"""A tiny class-conditional diffusion transformer with adaLN-Zero blocks."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adaLN = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x, c):
        s1, b1, g1, s2, b2, g2 = self.adaLN(c).chunk(6, dim=1)
        h = modulate(self.norm1(x), s1, b1)
        x = x + g1.unsqueeze(1) * self.attn(h, h, h, need_weights=False)[0]
        return x + g2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), s2, b2))


class DiT(nn.Module):
    def __init__(self, tokens=6, channels=4, dim=32, depth=2, heads=4, num_classes=3, class_dropout=0.1):
        super().__init__()
        self.num_classes, self.class_dropout = num_classes, class_dropout
        self.inp = nn.Linear(channels, dim)
        self.register_buffer("pos", torch.randn(1, tokens, dim) * 0.3)
        self.t_embed = nn.Sequential(nn.Linear(16, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.y_embed = nn.Embedding(num_classes + 1, dim)
        self.blocks = nn.ModuleList([DiTBlock(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.final_mod = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, channels)
        for block in self.blocks:
            nn.init.zeros_(block.adaLN[-1].weight)
            nn.init.zeros_(block.adaLN[-1].bias)
        for layer in (self.final_mod, self.out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def timestep(self, t):
        freqs = torch.exp(torch.linspace(0, 4, 8))
        angles = t[:, None] * freqs
        return self.t_embed(torch.cat([angles.sin(), angles.cos()], 1))

    def forward(self, x, t, y):
        if self.training:
            y = torch.where(torch.rand(len(y)) < self.class_dropout, self.num_classes, y)
        c = self.timestep(t) + self.y_embed(y)
        h = self.inp(x) + self.pos
        for block in self.blocks:
            h = checkpoint(block, h, c, use_reentrant=False)
        shift, scale = self.final_mod(F.silu(c)).chunk(2, dim=1)
        return self.out(modulate(self.norm(h), shift, scale))


class Diffusion:
    def __init__(self):
        g = torch.Generator().manual_seed(12)
        self.proto = torch.randn(3, 6, 4, generator=g)

    def batch(self, n):
        y = torch.randint(0, 3, (n,))
        return self.proto[y] + 0.1 * torch.randn(n, 6, 4), y

    def training_loss(self, model, x0, y):
        t = torch.rand(len(x0))
        noise = torch.randn_like(x0)
        alpha = torch.cos(0.5 * torch.pi * t).view(-1, 1, 1)
        sigma = torch.sin(0.5 * torch.pi * t).view(-1, 1, 1)
        return F.mse_loss(model(alpha * x0 + sigma * noise, t, y), noise)


@torch.no_grad()
def update_ema(ema, model, decay=0.95):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.lerp_(p, 1 - decay)


def main():
    torch.manual_seed(0)
    diffusion, model = Diffusion(), DiT()
    ema = copy.deepcopy(model).requires_grad_(False).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    for step in range(50):
        loss = diffusion.training_loss(model, *diffusion.batch(64))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        update_ema(ema, model)
        if step % 15 == 0 or step == 89:
            with torch.no_grad():
                val = diffusion.training_loss(ema, *diffusion.batch(256))
            print(f"step {step} loss {loss.item():.4f} ema {val.item():.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
