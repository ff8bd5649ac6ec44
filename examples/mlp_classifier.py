"""Classify points on three spirals with a multi-layer perceptron."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Spirals(Dataset):
    """Points on the arms of a spiral, labelled by their arm."""

    def __init__(self, points_per_arm=200, arms=3, noise=0.04):
        radius = torch.linspace(0.1, 1.0, points_per_arm).repeat(arms)
        self.labels = torch.arange(arms).repeat_interleave(points_per_arm)
        angle = 4.0 * radius + self.labels * (2 * math.pi / arms)
        self.points = radius[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
        self.points += noise * torch.randn_like(self.points)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.points[index], self.labels[index]


class Classifier(nn.Module):
    def __init__(self, hidden=64, classes=3):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.layers(x)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    correct = total = 0
    for points, labels in loader:
        correct += (model(points).argmax(dim=1) == labels).sum().item()
        total += len(labels)
    model.train()
    return correct / total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train, held_out = random_split(Spirals(), [480, 120])
    train_loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)
    held_out_loader = DataLoader(held_out, batch_size=64)

    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    step = 0
    while step < args.steps:
        for points, labels in train_loader:
            loss = criterion(model(points), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.6f}")
            step += 1
            if step == args.steps:
                break

    print(f"held-out accuracy {accuracy(model, held_out_loader):.3f}")


if __name__ == "__main__":
    main()
