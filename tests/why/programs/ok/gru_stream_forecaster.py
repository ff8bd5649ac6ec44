# ok
# evidence: windows trained: 40, loss went down: True
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Cfg:
    hidden: int = 24
    window: int = 10
    streams: int = 8
    windows: int = 40
    lr: float = 0.01
    clip: float = 1.0


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.readout = nn.Linear(hidden, 1)
        self.hidden = hidden

    def initial(self, n):
        return torch.zeros(n, self.hidden)

    def forward(self, seq, h):
        preds = []
        for t in range(seq.shape[1]):
            h = self.cell(seq[:, t:t + 1], h)
            preds.append(self.readout(h))
        return torch.cat(preds, dim=1), h


def wave(cfg):
    phase = 6.28 * torch.rand(cfg.streams, 1)
    t = torch.arange(cfg.window * cfg.windows + 1).float()
    return torch.sin(0.4 * t + phase) + 0.05 * torch.randn(cfg.streams, len(t))


def main():
    torch.manual_seed(14)
    cfg = Cfg()
    series = wave(cfg)
    net = Forecaster(cfg.hidden)
    opt = torch.optim.RMSprop(net.parameters(), lr=cfg.lr)
    h = net.initial(cfg.streams)
    losses = []
    for w in range(cfg.windows):
        lo = w * cfg.window
        x, y = series[:, lo:lo + cfg.window], series[:, lo + 1:lo + cfg.window + 1]
        pred, h = net(x, h)
        loss = (pred - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), cfg.clip)
        opt.step()
        h = h.detach()        # keep the memory, drop the graph
        losses.append(loss.item())
        if w % 10 == 9:
            print(f"window {w + 1} mse {losses[-1]:.4f}")
    print(f"windows trained: {len(losses)}, loss went down: {sum(losses[-8:]) < sum(losses[:8])}")


if __name__ == "__main__":
    main()
