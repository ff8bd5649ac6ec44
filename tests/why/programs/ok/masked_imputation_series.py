# ok
# evidence: fraction observed below one: True, masked error went down: True
import argparse

import torch
from torch import nn


class Imputer(nn.Module):
    """Bidirectional GRU that fills in gaps of a multichannel series."""

    def __init__(self, channels, hidden=20):
        super().__init__()
        self.rnn = nn.GRU(2 * channels, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, channels)

    def forward(self, x, observed):
        h, _ = self.rnn(torch.cat([x * observed, observed], dim=-1))
        return self.out(h)


def masked_mse(pred, target, mask):
    return ((pred - target).pow(2) * mask).sum() / mask.sum().clamp_min(1.0)


def make_series(n, length, channels):
    t = torch.linspace(0, 6.28, length)
    phase = 6.28 * torch.rand(n, 1, 1)
    k = torch.arange(1, channels + 1).float()
    return torch.sin(t[None, :, None] * k + phase)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--hide", type=float, default=0.2)
    ap.add_argument("--lr", type=float, default=1e-2)
    args = ap.parse_args()
    torch.manual_seed(15)
    model = Imputer(2)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    losses, fraction = [], 1.0
    for step in range(args.steps):
        x = make_series(16, 14, 2)
        lengths = torch.randint(8, 15, (16,))
        valid = (torch.arange(14)[None, :] < lengths[:, None]).float().unsqueeze(-1)
        observed = (torch.rand_like(x) > args.hide).float() * valid
        hidden = valid - observed                 # counted in the loss: real, but hidden from the model
        loss = masked_mse(model(x, observed), x, hidden)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        fraction = observed.mean().item()
        if step % 10 == 9:
            print(f"step {step + 1} masked mse {losses[-1]:.4f} observed {fraction:.2f}")
    print(f"fraction observed below one: {fraction < 1}, "
          f"masked error went down: {sum(losses[-6:]) < sum(losses[:6])}")


if __name__ == "__main__":
    main()
