# ok
# evidence: True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 8))
        self.predictor = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 8))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return pa, pb, za.detach(), zb.detach()


net = SimSiam()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(16, 6)
for _ in range(3):
    pa, pb, za, zb = net(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    loss = -(F.cosine_similarity(pa, zb).mean() + F.cosine_similarity(pb, za).mean()) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
print("za requires grad:", za.requires_grad)
print("evidence:", net.encoder[0].weight.grad.abs().sum().item() > 0)
