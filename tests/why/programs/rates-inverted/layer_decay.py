# rates-inverted
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, img=8, patch=4, dim=32, depth=8, heads=4, num_classes=6):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, (img // patch) ** 2 + 1, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def reset_classifier(self, num_classes):
        self.head = nn.Linear(self.head.in_features, num_classes)

    def no_weight_decay(self):
        return {"pos_embed", "cls_token"}

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def get_layer_id(name, num_layers):
    if name.startswith(("patch_embed", "cls_token", "pos_embed")):
        return 0
    if name.startswith("blocks"):
        return int(name.split(".")[1]) + 1
    return num_layers


def param_groups_lrd(model, lr, weight_decay=0.05, layer_decay=0.5):
    num_layers = len(model.blocks) + 1
    layer_scales = [layer_decay ** i for i in range(num_layers + 1)]  #C
    groups = {}
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        decay = 0.0 if p.ndim == 1 or name in model.no_weight_decay() else weight_decay
        layer_id = get_layer_id(name, num_layers)
        key = (layer_id, decay)
        if key not in groups:
            groups[key] = {"params": [], "weight_decay": decay, "lr": lr * layer_scales[layer_id]}  #C
        groups[key]["params"].append(p)
    return list(groups.values())


def patterns(n, classes, template_seed, seed):
    g = torch.Generator().manual_seed(template_seed)
    templates = torch.randn(classes, 1, 8, 8, generator=g)
    g.manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    return TensorDataset(templates[y] + 1.0 * torch.randn(n, 1, 8, 8, generator=g), y)


def train(model, optimizer, loader, epochs, tag):
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"{tag} epoch {epoch} loss {total / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    model = VisionTransformer(num_classes=6)
    pretrain = DataLoader(patterns(512, 6, 5, 1), batch_size=64, shuffle=True)
    train(model, torch.optim.AdamW(model.parameters(), lr=2e-3), pretrain, 3, "pretrain")

    model.reset_classifier(4)
    finetune = DataLoader(patterns(512, 4, 5, 2), batch_size=64, shuffle=True)
    optimizer = torch.optim.AdamW(param_groups_lrd(model, lr=5e-4))  #C
    train(model, optimizer, finetune, 4, "finetune")


if __name__ == "__main__":
    main()
print("evidence: done")
