# ok
# evidence: done
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        keep = torch.empty(x.size(0), 1, 1).bernoulli_(1 - self.p)
        return x * keep / (1 - self.p)


class Block(nn.Module):
    def __init__(self, dim, heads, drop_path, init_values=1e-1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gamma1 = nn.Parameter(init_values * torch.ones(dim))
        self.gamma2 = nn.Parameter(init_values * torch.ones(dim))
        self.drop_path = DropPath(drop_path)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.drop_path(self.gamma1 * self.attn(h, h, h, need_weights=False)[0])
        return x + self.drop_path(self.gamma2 * self.mlp(self.norm2(x)))


class ViT(nn.Module):
    def __init__(self, dim=32, depth=4, heads=4, num_classes=6):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, 4)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.empty(1, 5, dim))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        self.blocks = nn.ModuleList([Block(dim, heads, 0.1 * i / (depth - 1)) for i in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.size(0), -1, -1), x], 1) + self.pos_embed
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x)[:, 0])


class ModelEmaV2(nn.Module):
    def __init__(self, model, decay=0.95):
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.module.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            e.copy_(self.decay * e + (1.0 - self.decay) * m)


def param_groups_lrd(model, weight_decay, layer_decay):
    last = len(model.blocks) + 1
    groups = {}
    for name, p in model.named_parameters():
        if name.startswith("blocks."):
            layer = int(name.split(".")[1]) + 1
        else:
            layer = 0 if name.split(".")[0] in ("patch_embed", "cls_token", "pos_embed") else last
        wd = 0.0 if p.ndim == 1 or name in ("cls_token", "pos_embed") else weight_decay
        group = groups.setdefault((layer, wd), {"params": [], "weight_decay": wd, "lr_scale": layer_decay ** (last - layer)})
        group["params"].append(p)
    return list(groups.values())


def adjust_lr(optimizer, step, total, warmup, lr, min_lr=1e-5):
    if step < warmup:
        value = lr * (step + 1) / warmup
    else:
        value = min_lr + (lr - min_lr) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    for g in optimizer.param_groups:
        g["lr"] = value * g["lr_scale"]


def mixup(x, y, num_classes, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    target = F.one_hot(y, num_classes).float() * 0.9 + 0.1 / num_classes
    return lam * x + (1 - lam) * x.flip(0), lam * target + (1 - lam) * target.flip(0)


def data(n, seed):
    g = torch.Generator().manual_seed(9)
    proto = torch.randn(6, 3, 8, 8, generator=g)
    g.manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    return TensorDataset(proto[y] + torch.randn(n, 3, 8, 8, generator=g), y)


@torch.no_grad()
def accuracy(model, loader):
    return torch.cat([(model(x).argmax(1) == y).float() for x, y in loader]).mean().item()


def main():
    torch.manual_seed(0)
    train, val = DataLoader(data(512, 1), 64, shuffle=True, drop_last=True), DataLoader(data(256, 2), 128)
    model = ViT()
    ema = ModelEmaV2(model)
    optimizer = torch.optim.AdamW(param_groups_lrd(model, 0.05, 0.75), lr=4e-3)
    epochs, step = 4, 0
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            adjust_lr(optimizer, step, epochs * len(train), 8, 4e-3)
            x, target = mixup(x, y, 6)
            loss = torch.sum(-target * F.log_softmax(model(x), dim=-1), dim=-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()
            ema.update(model)
            step += 1
            total += loss.item()
        model.eval()
        print(f"epoch {epoch} loss {total / len(train):.3f} acc {accuracy(model, val):.3f} ema {accuracy(ema.module, val):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
