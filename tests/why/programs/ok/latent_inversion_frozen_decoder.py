# ok
# evidence: decoder unchanged: True, reconstruction error went down: True
import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self, z=4, d=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 32), nn.Tanh(), nn.Linear(32, d))

    def forward(self, z):
        return self.net(z)


def train_decoder(dec, basis, steps=40):
    opt = torch.optim.Adam(dec.parameters(), lr=1e-2)
    for _ in range(steps):
        z = torch.randn(64, 4)
        loss = F.mse_loss(dec(z), torch.tanh(z @ basis))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"decoder loss {loss.item():.4f}")


def invert(dec, x, steps=60):
    """Only the codes are optimised; the decoder is a fixed function."""
    z = torch.zeros(len(x), 4, requires_grad=True)
    opt = torch.optim.Adam([z], lr=0.1)
    history = []
    for step in range(steps):
        loss = F.mse_loss(dec(z), x) + 1e-3 * z.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
        if step % 20 == 19:
            print(f"inversion step {step + 1} error {history[-1]:.4f}")
    return z.detach(), history


def main():
    torch.manual_seed(93)
    basis = torch.randn(4, 16)
    dec = Decoder()
    train_decoder(dec, basis)
    dec.eval()
    dec.requires_grad_(False)
    frozen = [p.clone() for p in dec.parameters()]
    x = torch.tanh(torch.randn(12, 4) @ basis)
    z, history = invert(dec, x)
    same = all(torch.equal(a, b) for a, b in zip(frozen, dec.parameters()))
    print(f"decoder unchanged: {same}, reconstruction error went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
