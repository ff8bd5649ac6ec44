# value-unused | b2
# evidence: done
"""Second label of mixup."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def main():
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        order = torch.randperm(512)
        for i in range(0, 512, 64):
            a, b = x[order[i:i + 64]], y[order[i:i + 64]]
            mixed, b1, b2, lam = mixup(a, b)
            out = model(mixed)
            loss = lam * F.cross_entropy(out, b1) + (1 - lam) * F.cross_entropy(out, b1)  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
