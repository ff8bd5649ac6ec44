# ok
# evidence: post-adaptation loss went down: True, adaptation helps: True
import torch
import torch.nn.functional as F
from torch import nn


class SineNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(1, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)

    def weights(self):
        return [p for layer in (self.l1, self.l2, self.l3) for p in (layer.weight, layer.bias)]

    @staticmethod
    def apply_weights(x, w):
        x = torch.tanh(F.linear(x, w[0], w[1]))
        x = torch.tanh(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])


def task():
    amp, phase = 0.5 + 1.5 * torch.rand(1), 3.14 * torch.rand(1)

    def sample(n=10):
        x = 6 * torch.rand(n, 1) - 3
        return x, amp * torch.sin(x + phase)
    return sample


def adapt(net, support, inner_lr, steps, create_graph):
    w = net.weights()
    x, y = support
    for _ in range(steps):
        loss = F.mse_loss(net.apply_weights(x, w), y)
        grads = torch.autograd.grad(loss, w, create_graph=create_graph)
        w = [p - inner_lr * g for p, g in zip(w, grads)]
    return w


def main():
    torch.manual_seed(1)
    net = SineNet()
    meta = torch.optim.Adam(net.parameters(), lr=5e-3)
    history, gain = [], []
    for it in range(60):
        meta_loss = 0.0
        for _ in range(4):
            sample = task()
            w = adapt(net, sample(), inner_lr=0.05, steps=2, create_graph=True)
            xq, yq = sample()
            meta_loss = meta_loss + F.mse_loss(net.apply_weights(xq, w), yq) / 4
            with torch.no_grad():
                before = F.mse_loss(net.apply_weights(xq, net.weights()), yq).item()
                gain.append(before - F.mse_loss(net.apply_weights(xq, w), yq).item())
        meta.zero_grad()
        meta_loss.backward()
        meta.step()
        history.append(meta_loss.item())
        if it % 15 == 14:
            print(f"iter {it + 1} query loss {sum(history[-15:]) / 15:.4f}")
    print(f"post-adaptation loss went down: {sum(history[-15:]) < sum(history[:15])}, "
          f"adaptation helps: {sum(gain[-60:]) > 0}")


if __name__ == "__main__":
    main()
