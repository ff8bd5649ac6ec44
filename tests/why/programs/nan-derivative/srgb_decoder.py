# nan-derivative | pow, nan/inf/finite
# evidence: decoder weights finite: False
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


def linear_to_srgb(x):
    low = 12.92 * x
    high = 1.055 * x.pow(1 / 2.4) - 0.055  #C
    return torch.where(x <= 0.0031308, low, high)  #C


class LatentDecoder(nn.Module):
    def __init__(self, latent=8, ch=12):
        super().__init__()
        self.fc = nn.Linear(latent, ch * 4 * 4)
        self.up = nn.Upsample(scale_factor=2)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, 3, 3, padding=1)
        self.ch = ch

    def forward(self, z, silhouette):
        h = F.relu(self.fc(z)).view(-1, self.ch, 4, 4)
        h = F.relu(self.conv1(self.up(h)))
        radiance = F.softplus(self.conv2(h)) * silhouette
        return linear_to_srgb(radiance)


class Scenes:
    def __init__(self, latent=8):
        self.basis = torch.rand(latent, 3, 8, 8)

    def batch(self, n):
        z = torch.rand(n, self.basis.size(0))
        img = torch.einsum("bl,lchw->bchw", z, self.basis) / self.basis.size(0)
        size = torch.randint(2, 5, (n, 1, 1, 1))
        axis = torch.arange(8) - 3.5
        silhouette = ((axis[:, None].abs() < size) & (axis[None, :].abs() < size)).float()
        return z, silhouette, linear_to_srgb(img * silhouette)


class Trainer:
    def __init__(self, lr=2e-3):
        self.scenes = Scenes()
        self.model = LatentDecoder()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def step(self):
        z, silhouette, target = self.scenes.batch(16)
        loss = F.l1_loss(self.model(z, silhouette), target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def weights_finite(self):
        return all(torch.isfinite(p).all().item() for p in self.model.parameters())


def main():
    trainer = Trainer()
    for step in range(25):
        loss = trainer.step()
        if step % 5 == 0:
            print(f"step {step} l1 {loss:.4f}")
    print("decoder weights finite:", trainer.weights_finite())


if __name__ == "__main__":
    main()
