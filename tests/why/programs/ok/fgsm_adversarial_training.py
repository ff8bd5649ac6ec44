# ok
# evidence: perturbation within epsilon: True, robust accuracy improved: True
import torch
import torch.nn.functional as F
from torch import nn

EPS = 0.2


def fgsm(model, x, y):
    x_adv = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x_adv), y)
    (g,) = torch.autograd.grad(loss, x_adv)
    return (x + EPS * g.sign()).detach()


def robust_accuracy(model, x, y):
    x_adv = fgsm(model, x, y)
    with torch.no_grad():
        return (model(x_adv).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(62)
    centers = 1.2 * torch.randn(4, 9)

    def sample(n):
        y = torch.randint(0, 4, (n,))
        return centers[y] + 0.5 * torch.randn(n, 9), y

    model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    xt, yt = sample(200)
    start, inside = robust_accuracy(model, xt, yt), True
    for step in range(40):
        x, y = sample(48)
        x_adv = fgsm(model, x, y)
        inside = inside and bool((x_adv - x).abs().max() <= EPS + 1e-5)
        loss = 0.5 * F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(x_adv), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.3f} robust acc {robust_accuracy(model, xt, yt):.3f}")
    print(f"perturbation within epsilon: {inside}, robust accuracy improved: {robust_accuracy(model, xt, yt) > start}")


if __name__ == "__main__":
    main()
