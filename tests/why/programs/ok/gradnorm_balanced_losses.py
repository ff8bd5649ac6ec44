# ok
# evidence: weights stay positive and sum to two: True, both losses went down: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU())
        self.small, self.large = nn.Linear(24, 1), nn.Linear(24, 1)

    def forward(self, x):
        h = self.body(x)
        return self.small(h), self.large(h)


class Balancer:
    """Weights the losses so that they pull on the shared layer with like force."""

    def __init__(self, layer):
        self.layer = layer

    def weights(self, losses):
        norms = [torch.autograd.grad(l, self.layer.weight, retain_graph=True)[0].norm() for l in losses]
        inv = torch.stack([1.0 / (n + 1e-8) for n in norms])
        return (2.0 * inv / inv.sum()).tolist()


def main():
    torch.manual_seed(27)
    model = Shared()
    balancer = Balancer(model.body[2])
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    hist, fine = [], True
    for step in range(60):
        x = torch.randn(48, 6)
        y_small = 0.2 * torch.tanh(x[:, :1])
        y_large = 5.0 * torch.tanh(x[:, 1:2] + x[:, 2:3])
        p_small, p_large = model(x)
        losses = [F.mse_loss(p_small, y_small), F.mse_loss(p_large, y_large)]
        w = balancer.weights(losses)
        fine = fine and min(w) > 0 and abs(sum(w) - 2.0) < 1e-3
        opt.zero_grad()
        (w[0] * losses[0] + w[1] * losses[1]).backward()
        opt.step()
        hist.append([l.item() for l in losses])
        if step % 15 == 14:
            print(f"step {step + 1} losses {hist[-1][0]:.4f} {hist[-1][1]:.3f} weights {w[0]:.2f} {w[1]:.2f}")
    down = all(sum(h[i] for h in hist[-10:]) < sum(h[i] for h in hist[:10]) for i in (0, 1))
    print(f"weights stay positive and sum to two: {fine}, both losses went down: {down}")


if __name__ == "__main__":
    main()
