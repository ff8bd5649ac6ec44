# ok
# evidence: velocity nonzero: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, k=4):
        super().__init__()
        self.u, self.v = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.normal_(self.u.weight, std=0.3)
        nn.init.normal_(self.v.weight, std=0.3)

    def forward(self, users, items):
        return (self.u(users) * self.v(items)).sum(1) + self.bias


class HeavyBall:
    """The update by hand: v <- m v + g, p <- p - lr v."""

    def __init__(self, params, lr, m):
        self.params = list(params)
        self.lr, self.m = lr, m
        self.velocity = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def apply(self, grads):
        for p, v, g in zip(self.params, self.velocity, grads):
            v.mul_(self.m).add_(g)
            p.sub_(self.lr * v)


def main():
    torch.manual_seed(85)
    true_u, true_v = torch.randn(20, 2), torch.randn(15, 2)
    model = MatrixFactorization(20, 15)
    optimizer = HeavyBall(model.parameters(), lr=0.5, m=0.9)
    losses = []
    for step in range(60):
        users, items = torch.randint(0, 20, (64,)), torch.randint(0, 15, (64,))
        rating = (true_u[users] * true_v[items]).sum(1) + 0.5
        loss = F.mse_loss(model(users, items), rating)
        optimizer.apply(torch.autograd.grad(loss, optimizer.params))
        losses.append(loss.item())
        if step % 12 == 11:
            print(f"step {step + 1} mse {losses[-1]:.4f}")
    active = all(v.abs().sum().item() > 0 for v in optimizer.velocity)
    print(f"velocity nonzero: {active}, loss went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
