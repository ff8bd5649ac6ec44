# wrong-dim
# evidence: other samples change a prediction: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class SetEncoder(nn.Module):
    def __init__(self, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Linear(2, dim)
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, points):
        h = self.embed(points)
        q, k, v = self.query(h), self.key(h), self.value(h)
        scores = torch.einsum("bnd,cnd->nbc", q, k) / q.shape[-1] ** 0.5  #C
        weights = F.softmax(scores, dim=-1)
        mixed = torch.einsum("nbc,cnd->bnd", weights, v)  #C
        return self.out((h + mixed).mean(1))


def shapes(n, points=9):
    kind = torch.randint(0, 3, (n,))
    angle = torch.rand(n, points) * 6.283
    radius = torch.stack([torch.ones_like(angle), 1 + 0.4 * torch.sin(3 * angle), 1 + 0.4 * torch.sin(5 * angle)], 0)
    r = radius[kind, torch.arange(n)]
    return torch.stack([r * angle.cos(), r * angle.sin()], -1), kind


def train(model, steps=100):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        x, y = shapes(24)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(2)
net = SetEncoder()
train(net)
with torch.no_grad():
    x, _ = shapes(20)
    first, second = net(x[:10])[0], net(torch.cat([x[:1], x[11:20]]))[0]
print("evidence: other samples change a prediction:", not torch.allclose(first, second, rtol=1e-3))
