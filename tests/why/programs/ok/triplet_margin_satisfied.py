# ok
# evidence: many triplets satisfied at the end: True, loss went down: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, d=10, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.LeakyReLU(0.1), nn.Linear(32, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def triplets(n, centers):
    k = len(centers)
    a = torch.randint(0, k, (n,))
    b = (a + torch.randint(1, k, (n,))) % k
    noise = lambda: 1.0 * torch.randn(n, centers.shape[1])
    return centers[a] + noise(), centers[a] + noise(), centers[b] + noise()


def main():
    torch.manual_seed(58)
    centers = torch.randn(6, 10)
    model = Embedder()
    criterion = nn.TripletMarginLoss(margin=0.3)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses, satisfied = [], 0.0
    for step in range(60):
        a, p, n = (model(t) for t in triplets(32, centers))
        loss = criterion(a, p, n)          # exactly zero for triplets that keep the margin
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        with torch.no_grad():
            gap = (a - n).norm(dim=1) - (a - p).norm(dim=1)
            satisfied = (gap > 0.3).float().mean().item()
        if step % 12 == 11:
            print(f"step {step + 1} loss {losses[-1]:.4f} satisfied {satisfied:.2f}")
    print(f"many triplets satisfied at the end: {satisfied > 0.5}, loss went down: {sum(losses[-8:]) < sum(losses[:8])}")


if __name__ == "__main__":
    main()
