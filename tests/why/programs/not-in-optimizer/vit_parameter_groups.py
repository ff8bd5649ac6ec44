# not-in-optimizer
# evidence: done
"""ViT on synthetic 16x16 images, timm-like optimizer factory."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, img=16, patch=4, dim=32, depth=2, heads=4, classes=4):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, (img // patch) ** 2 + 1, dim))
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def create_optimizer(model, lr, weight_decay):
    decay, no_decay = [], []
    for name, param in model.named_parameters():
        if name.endswith(".bias") or "norm" in name:  #C
            no_decay.append(param)
        elif name.endswith(".weight"):  #C
            decay.append(param)
    return torch.optim.AdamW([{"params": decay, "weight_decay": weight_decay},  #C
                              {"params": no_decay, "weight_decay": 0.0}], lr=lr)


def quadrant_images(n, seed):
    """A bright square; the label is the image quadrant in which it lies."""
    g = torch.Generator().manual_seed(seed)
    x = 0.3 * torch.randn(n, 1, 16, 16, generator=g)
    rc = torch.randint(0, 14, (n, 2), generator=g)
    for i, (r, c) in enumerate(rc.tolist()):
        x[i, 0, r:r + 3, c:c + 3] += 2.0
    y = (rc[:, 0] > 6).long() * 2 + (rc[:, 1] > 6).long()
    return TensorDataset(x, y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(quadrant_images(960, 0), batch_size=32, shuffle=True)
    val_x, val_y = quadrant_images(200, 1).tensors
    model = VisionTransformer()
    optimizer = create_optimizer(model, args.lr, args.weight_decay)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(val_x).argmax(1) == val_y).float().mean().item()
        print(f"epoch {epoch}: loss {total / len(train_loader):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
