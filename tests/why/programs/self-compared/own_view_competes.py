# self-compared
# evidence: done
# SimCLR style contrastive pretraining with a k-NN evaluation.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Projector(nn.Module):
    def __init__(self, d=32, hidden=64, out=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), dim=1)


class World:
    def __init__(self, classes=12, d=32):
        self.proto = torch.randn(classes, d)

    def batch(self, n):
        y = torch.randint(0, len(self.proto), (n,))
        return self.proto[y] + 0.8 * torch.randn(n, self.proto.size(1)), y


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.3 * torch.randn_like(x)


def nt_xent(z1, z2, temperature=0.2):
    n = z1.size(0)
    z = torch.cat([z1, z2], dim=0)
    sim = z @ z.t() / temperature  #C
    positives = (torch.arange(2 * n) + n) % (2 * n)
    return F.cross_entropy(sim, positives)  #C


@torch.no_grad()
def knn_accuracy(model, world, k=5):
    model.eval()
    xb, yb = world.batch(500)
    xq, yq = world.batch(300)
    fb, fq = F.normalize(model.backbone(xb), dim=1), F.normalize(model.backbone(xq), dim=1)
    idx = (fq @ fb.t()).topk(k, dim=1).indices
    pred = torch.mode(yb[idx], dim=1).values
    return (pred == yq).float().mean().item()


def main():
    torch.manual_seed(0)
    world, model = World(), Projector()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=400)
    for step in range(41):
        model.train()
        x, _ = world.batch(96)
        loss = nt_xent(model(augment(x)), model(augment(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} knn {knn_accuracy(model, world):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
