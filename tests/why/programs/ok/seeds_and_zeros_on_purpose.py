# ok
# evidence: done
# validation noise of one seed, a branch that is faded in, a bound that is left again, augmented samples drawn with
# replacement, a gradient by the input that is a perturbation, and fast weights of first order
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.extra = nn.Linear(24, 24)
        self.out = nn.Linear(24, 3)
        self.log_scale = nn.Parameter(torch.zeros(3))
        nn.init.zeros_(self.extra.weight)
        nn.init.zeros_(self.extra.bias)

    def forward(self, x, fade=1.0):
        h = self.trunk(x)
        return self.out(h + fade * self.extra(h)) * self.log_scale.clamp(-0.001, 2).exp()


def perturbed(model, x, y, size=0.05):
    x = x.clone().requires_grad_(True)
    (g,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    return (x + size * g.sign()).detach()


def noisy_validation(model, x, y):
    model.eval()
    with torch.no_grad():
        generator = torch.Generator().manual_seed(3)
        loss = F.cross_entropy(model(x + 0.1 * torch.randn(x.shape, generator=generator)), y).item()
    model.train()
    return loss


def main():
    torch.manual_seed(0)
    y = torch.multinomial(torch.tensor([0.8, 0.15, 0.05]), 300, replacement=True)
    x = torch.randn(300, 6) + 2 * torch.eye(6)[y]
    weights = (1 / torch.bincount(y).float())[y]
    loader = DataLoader(TensorDataset(x, y), batch_size=30, sampler=WeightedRandomSampler(weights, 300))
    held_x, held_y = torch.randn(60, 6), torch.randint(0, 3, (60,))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        for xb, yb in loader:
            fast = {name: p for name, p in model.named_parameters()}
            inner = F.cross_entropy(model(xb, fade=min(1.0, epoch / 3)), yb)
            grads = torch.autograd.grad(inner, list(fast.values()))
            fast = {name: p - 0.01 * g for (name, p), g in zip(fast.items(), grads)}
            loss = F.cross_entropy(torch.func.functional_call(model, fast, (xb,)), yb)
            loss = loss + 0.5 * F.cross_entropy(model(perturbed(model, xb, yb), fade=min(1.0, epoch / 3)), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} validation {noisy_validation(model, held_x, held_y):.3f}")


main()
print("evidence: done")
