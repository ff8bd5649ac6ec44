# ok
# evidence: distinct weight levels at most 16: True, weights moved: True, loss went down: True
import torch
from torch import nn


def fake_quant(x, bits=4):
    """Rounds in the forward pass; the gradient goes straight through."""
    levels = 2 ** (bits - 1) - 1
    scale = x.detach().abs().max().clamp_min(1e-8) / levels
    q = torch.round(x / scale) * scale
    return x + (q - x).detach()


class QConv(nn.Conv1d):
    def forward(self, x):
        return nn.functional.conv1d(x, fake_quant(self.weight), self.bias, padding=self.padding[0])


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = QConv(1, 8, 3, padding=1)
        self.c2 = QConv(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        x = fake_quant(torch.relu(self.c1(x)), bits=8)
        x = fake_quant(torch.relu(self.c2(x)), bits=8)
        return self.head(x.mean(-1))


def signals(n):
    """The target is the roughness of the signal."""
    x = torch.randn(n, 1, 16) * (0.3 + torch.rand(n, 1, 1))
    y = (x[:, 0, 1:] - x[:, 0, :-1]).abs().mean(1, keepdim=True)
    return x, y


def main():
    torch.manual_seed(23)
    net = QNet()
    w0 = net.c2.weight.detach().clone()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.98)
    losses = []
    for it in range(50):
        x, y = signals(32)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.item())
        if it % 10 == 9:
            print(f"it {it + 1} mse {loss.item():.4f}")
    levels = fake_quant(net.c2.weight.detach()).round(decimals=6).unique().numel()
    print(f"distinct weight levels at most 16: {levels <= 16}, weights moved: "
          f"{not torch.equal(w0, net.c2.weight.detach())}, loss went down: {sum(losses[-6:]) < sum(losses[:6])}")


if __name__ == "__main__":
    main()
