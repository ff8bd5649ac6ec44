# ok
# evidence: input noise fixed: True, closer to the clean image than the noisy one: True
import torch
from torch import nn


def picture(size=16):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    return (torch.exp(-3 * (xx ** 2 + yy ** 2)) + 0.5 * (xx > 0.3)).view(1, 1, size, size)


class Prior(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, ch, 3, padding=1), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, z):
        return self.body(z)


def main():
    torch.manual_seed(86)
    clean = picture()
    noisy = clean + 0.4 * torch.randn_like(clean)
    # the whole data set is one noisy image; the network's input is one fixed noise tensor
    z = torch.randn(1, 4, 4, 4)
    z0 = z.clone()
    net = Prior()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(80):
        loss = nn.functional.mse_loss(net(z), noisy)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 19:
            print(f"step {step + 1} fit {loss.item():.4f}")
    with torch.no_grad():
        closer = (net(z) - clean).pow(2).mean() < (noisy - clean).pow(2).mean()
    print(f"input noise fixed: {torch.equal(z, z0)}, closer to the clean image than the noisy one: {bool(closer)}")


if __name__ == "__main__":
    main()
