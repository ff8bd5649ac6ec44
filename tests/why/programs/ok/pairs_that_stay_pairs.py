# ok
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(4, 8)
        self.net = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, c, train_only=None):
        return self.net(torch.cat([x, self.emb(c)], 1))


def flipped(image, mask):
    if torch.rand(()) < 0.5:
        return image.flip(-1), mask.flip(-1)
    return image, mask


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        order = torch.randperm(256)
        for i in range(0, 256, 64):
            mixed, b1, b2, lam = mixup(x[order[i:i + 64]], y[order[i:i + 64]])
            out = model(mixed)
            loss = lam * F.cross_entropy(out, b1) + (1 - lam) * F.cross_entropy(out, b2)
            opt.zero_grad()
            loss.backward()
            opt.step()
    cond = Conditional()
    opt = torch.optim.Adam(cond.parameters(), lr=5e-3)
    for step in range(30):
        c = torch.randint(0, 4, (32,))
        z = torch.randn(32, 2)
        loss = F.mse_loss(cond(z, c), z * (c[:, None] + 1.0))
        opt.zero_grad()
        loss.backward()
        opt.step()
    seg = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    opt = torch.optim.Adam(seg.parameters(), lr=5e-3)
    masks = (torch.rand(64, 12, 12) > 0.6).float()
    images = masks[:, None] + 0.3 * torch.randn(64, 1, 12, 12)
    for step in range(20):
        pairs = [flipped(images[i], masks[i]) for i in torch.randperm(64)[:16].tolist()]
        a, b = torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])
        loss = F.binary_cross_entropy_with_logits(seg(a)[:, 0], b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
    for step in range(20):
        v = x[torch.randint(0, 256, (32,))]
        a, b = (F.normalize(enc(v + 0.1 * torch.randn_like(v)), dim=1) for _ in range(2))
        loss = F.cross_entropy(a @ b.t() / 0.1, torch.arange(32))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
