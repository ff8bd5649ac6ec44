# workers-share-seed
# evidence: done
"""Denoising autoencoder; the noise is drawn in the DataLoader workers."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NoisySignals(Dataset):
    def __init__(self, n=256, length=32, sigma=0.5, seed=0):
        t = np.linspace(0, 2 * np.pi, length)
        base = np.random.RandomState(seed)
        freq = base.randint(1, 4, size=n)
        phase = base.uniform(0, 2 * np.pi, size=n)
        self.clean = np.sin(freq[:, None] * t[None] + phase[:, None]).astype(np.float32)
        self.sigma = sigma
        self.rng = np.random.RandomState(seed + 1)  #C

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        noise = self.rng.randn(clean.shape[0]).astype(np.float32)  #C
        return torch.from_numpy(clean + self.sigma * noise), torch.from_numpy(clean)


class Denoiser(nn.Module):
    def __init__(self, length=32, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(length, hidden), nn.ReLU())
        self.decoder = nn.Linear(hidden, length)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()
    torch.manual_seed(0)
    data = NoisySignals()
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=args.workers)  #C
    model = Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        total = 0.0
        for noisy, clean in loader:
            loss = F.mse_loss(model(noisy), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
