"""Metric learning: a network shared by anchor, positive and negative maps like to near and unlike to far."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Triplets(IterableDataset):
    """Noisy waves of six frequencies; anchor and positive share the frequency, the negative has another."""

    def __init__(self, length=32, kinds=6):
        self.time = torch.linspace(0, 1, length)
        self.kinds = kinds

    def wave(self, kind):
        phase = torch.rand(1) * 2 * torch.pi
        return torch.sin(2 * torch.pi * (kind + 1) * self.time + phase) + 0.2 * torch.randn(len(self.time))

    def __iter__(self):
        while True:
            kind = int(torch.randint(self.kinds, (1,)))
            other = (kind + int(torch.randint(1, self.kinds, (1,)))) % self.kinds
            yield {"anchor": self.wave(kind), "positive": self.wave(kind), "negative": self.wave(other), "kind": kind}


class Embedder(nn.Module):
    def __init__(self, channels=16, width=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, channels, kernel_size=5, padding=2),
            nn.PReLU(),
            nn.AvgPool1d(2),
            nn.Conv1d(channels, channels, kernel_size=5, padding="same", groups=2),
            nn.InstanceNorm1d(channels, affine=True),
            nn.PReLU(),
        )
        self.head = nn.Linear(channels, width)

    def forward(self, x):
        x = self.features(x.unsqueeze(1))
        return F.normalize(self.head(x.square().mean(dim=-1)), dim=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    loader = iter(DataLoader(Triplets(), batch_size=24))
    model = Embedder()
    criterion = nn.TripletMarginLoss(margin=1.0)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-4, momentum=0.5)

    for step in range(args.steps):
        batch = next(loader)
        together = torch.cat([batch["anchor"], batch["positive"], batch["negative"]])
        anchor, positive, negative = model(together).chunk(3)
        loss = criterion(anchor, positive, negative)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        near = F.cosine_similarity(anchor, positive).mean().item()
        far = F.cosine_similarity(anchor, negative).mean().item()
        print(f"step {step} loss {loss.item():.6f} like {near:.4f} unlike {far:.4f}")


if __name__ == "__main__":
    main()
