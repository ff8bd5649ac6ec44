# ok
# evidence: similarity rose: True, encoder moved: True
import torch
import torch.nn.functional as F
from torch import nn


class SimSiam(nn.Module):
    def __init__(self, dim=24, pred=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
            nn.Linear(8 * 9, dim, bias=False), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, pred, bias=False), nn.BatchNorm1d(pred), nn.ReLU(),
                                       nn.Linear(pred, dim))

    def forward(self, v1, v2):
        z1, z2 = self.encoder(v1), self.encoder(v2)
        return self.predictor(z1), self.predictor(z2), z1.detach(), z2.detach()


def negative_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


def augment(x):
    flip = torch.rand(len(x)) < 0.5
    x = torch.where(flip[:, None, None, None], x.flip(-1), x)
    return x + 0.1 * torch.randn_like(x)


def main():
    torch.manual_seed(80)
    shapes = torch.randn(6, 1, 6, 6)
    model = SimSiam()
    w0 = model.encoder[0].weight.detach().clone()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses = []
    for step in range(40):
        x = shapes[torch.randint(0, 6, (32,))] + 0.3 * torch.randn(32, 1, 6, 6)
        p1, p2, z1, z2 = model(augment(x), augment(x))
        loss = 0.5 * negative_cosine(p1, z2) + 0.5 * negative_cosine(p2, z1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} similarity {-losses[-1]:.4f}")
    print(f"similarity rose: {sum(losses[-5:]) < sum(losses[:5])}, "
          f"encoder moved: {not torch.allclose(w0, model.encoder[0].weight.detach())}")


if __name__ == "__main__":
    main()
