# ok
# evidence: evaluation repeatable: True, loss went down: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        keep = 1.0 - self.p
        mask = torch.bernoulli(torch.full((x.shape[0], 1, 1), keep))
        return x * mask / keep


class Block(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.drop_path = DropPath(p)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.drop_path(self.attn(h, h, h, need_weights=False)[0])
        return x + self.drop_path(self.mlp(self.n2(x)))


class ViT(nn.Module):
    def __init__(self, size=8, patch=4, dim=16, depth=2, classes=3):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, patch, stride=patch)
        n = (size // patch) ** 2
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, n + 1, dim))
        self.blocks = nn.Sequential(*[Block(dim, 2, 0.2 * i) for i in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, img):
        x = self.embed(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.blocks(x))[:, 0])


def main():
    torch.manual_seed(73)
    proto = torch.randn(3, 1, 8, 8)
    model = ViT()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    losses = []
    model.train()
    for step in range(40):
        y = torch.randint(0, 3, (32,))
        x = proto[y] + 0.8 * torch.randn(32, 1, 8, 8)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} loss {losses[-1]:.4f}")
    model.eval()
    with torch.no_grad():
        repeat = torch.equal(model(x), model(x))
    print(f"evaluation repeatable: {repeat}, loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
