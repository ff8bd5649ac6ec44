# ok
# evidence: output closer to clean than input: True, loss went down: True
import torch
from torch import nn


class DAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.GELU(),
                                  nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.GELU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1), nn.GELU(),
                                nn.Upsample(scale_factor=2), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        return self.up(self.down(x))


def bars(n, size=8):
    img = torch.zeros(n, 1, size, size)
    pos = torch.randint(0, size - 2, (n,))
    vertical = torch.rand(n) < 0.5
    for i in range(n):
        p = int(pos[i])
        if vertical[i]:
            img[i, 0, :, p:p + 3] = 1.0
        else:
            img[i, 0, p:p + 3, :] = 1.0
    return img


def main():
    torch.manual_seed(45)
    model = DAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    losses = []
    for step in range(60):
        clean = bars(24)
        noisy = clean + 0.6 * torch.randn_like(clean)
        optimizer.zero_grad()
        loss = criterion(model(noisy), clean)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 15 == 14:
            print(f"step {step + 1} mse {losses[-1]:.4f}")
    with torch.no_grad():
        clean = bars(64)
        noisy = clean + 0.6 * torch.randn_like(clean)
        closer = criterion(model(noisy), clean) < criterion(noisy, clean)
    print(f"output closer to clean than input: {bool(closer)}, loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
