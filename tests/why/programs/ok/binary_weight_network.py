# ok
# evidence: forward weights are two-valued: True, latent weights moved: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.where(w >= 0, torch.ones_like(w), -torch.ones_like(w))

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return g * (w.abs() <= 1).to(g.dtype)


class BinaryLinear(nn.Linear):
    def binary(self):
        scale = self.weight.detach().abs().mean(dim=1, keepdim=True)
        return SignSTE.apply(self.weight) * scale

    def forward(self, x):
        return F.linear(x, self.binary(), self.bias)


class BinaryNet(nn.Module):
    def __init__(self, d, h, classes):
        super().__init__()
        self.first = nn.Linear(d, h)
        self.mid = BinaryLinear(h, h)
        self.norm = nn.LayerNorm(h)
        self.last = nn.Linear(h, classes)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.last(F.relu(self.norm(self.mid(x))))


def main():
    torch.manual_seed(19)
    centers = torch.randn(5, 12)
    net = BinaryNet(12, 32, 5)
    latent = net.mid.weight.detach().clone()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    losses = []
    for step in range(50):
        y = torch.randint(0, 5, (40,))
        x = centers[y] + 0.8 * torch.randn(40, 12)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            net.mid.weight.clamp_(-1.0, 1.0)      # latent weights stay where the estimator passes gradients
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    with torch.no_grad():
        two = all(len(row.abs().round(decimals=5).unique()) == 1 for row in net.mid.binary())
    print(f"forward weights are two-valued: {two}, latent weights moved: "
          f"{not torch.equal(latent, net.mid.weight.detach())}, loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
