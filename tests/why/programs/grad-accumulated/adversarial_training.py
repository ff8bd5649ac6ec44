# grad-accumulated
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class MLP(nn.Module):
    def __init__(self, d=16, h=64, c=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.classifier = nn.Linear(h, c)

    def forward(self, x):
        return self.classifier(self.features(x))


def fgsm(model, x, y, eps):
    x_adv = x.clone().detach().requires_grad_(True)
    loss = F.cross_entropy(model(x_adv), y)
    loss.backward()  #C
    return (x_adv + eps * x_adv.grad.sign()).detach()


def grad_norm(model):
    return torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None)).item()


def robust_accuracy(model, x, y, eps):
    adv = fgsm(model, x, y, eps)
    with torch.no_grad():
        return (model(adv).argmax(1) == y).float().mean().item()


def main():
    centers = torch.randn(3, 16)
    eps = 0.2
    model = MLP()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    norms = []
    for step in range(200):
        y = torch.randint(0, 3, (64,))
        x = centers[y] + 0.7 * torch.randn(64, 16)
        opt.zero_grad()  #C
        x_adv = fgsm(model, x, y, eps)  #C
        loss = F.cross_entropy(model(x_adv), y)
        loss.backward()  #C
        norms.append(grad_norm(model))
        opt.step()
        if step % 50 == 0:
            print(f"step {step} adv loss {loss.item():.4f} grad norm {norms[-1]:.4f}")
    y = torch.randint(0, 3, (512,))
    x = centers[y] + 0.7 * torch.randn(512, 16)
    print(f"mean grad norm of first 20 steps {sum(norms[:20]) / 20:.4f}")
    print(f"robust accuracy {robust_accuracy(model, x, y, eps):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
