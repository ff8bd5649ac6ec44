# custom-backward
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F


class SwishFn(torch.autograd.Function):
    """Memory-efficient x * sigmoid(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return s * (1 + x * (1 - s))  #C


class Swish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)  #C


class Net(nn.Module):
    def __init__(self, d_in=8, h=32, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(d_in, h)
        self.fc2 = nn.Linear(h, h)
        self.fc3 = nn.Linear(h, classes)
        self.act = Swish()

    def forward(self, x):
        return self.fc3(self.act(self.fc2(self.act(self.fc1(x)))))


def moons(n):
    """Four interleaved arcs embedded in 8 dimensions."""
    y = torch.randint(0, 4, (n,))
    t = torch.rand(n) * 3.1416
    x = torch.stack([torch.cos(t + y * 1.57) + 0.3 * y, torch.sin(t + y * 1.57)], 1)
    x = torch.cat([x, torch.zeros(n, 6)], 1) + 0.1 * torch.randn(n, 8)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = moons(1024)
    xt, yt = moons(256)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(15):
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
        if epoch % 5 == 4:
            with torch.no_grad():
                acc = (model(xt).argmax(1) == yt).float().mean().item()
            print(f"epoch {epoch} loss {total / 16:.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
