"""Recognise stripes, checkers and blobs in noisy images with a small convolutional network."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def make_images(count, size=16):
    """Noisy images of four kinds: horizontal stripes, vertical stripes, a checkerboard, a blob."""
    labels = torch.randint(0, 4, (count,))
    phase = torch.randint(0, 4, (count, 2, 1, 1))
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    horizontal = (rows + phase[:, 0]) // 2 % 2
    vertical = (columns + phase[:, 1]) // 2 % 2
    center = 4.0 + 2.0 * phase
    blob = torch.exp(-((rows - center[:, 0]) ** 2 + (columns - center[:, 1]) ** 2) / 8.0)
    kinds = torch.stack([horizontal.float(), vertical.float(), (horizontal ^ vertical).float(), blob], dim=1)
    images = kinds[torch.arange(count), labels]
    return (images + 0.3 * torch.randn(count, size, size)).unsqueeze(1), labels


class ConvBlock(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return self.pool(F.relu(self.norm(self.conv(x))))


class Network(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(ConvBlock(1, 8), ConvBlock(8, 16))
        self.dropout = nn.Dropout2d(0.1)
        self.head = nn.Linear(16, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.dropout(self.features(x))
        x = F.adaptive_avg_pool2d(x, 1)
        return self.head(torch.flatten(x, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=args.steps + 1)

    for step in range(args.steps):
        images, labels = make_images(32)
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    with torch.inference_mode():
        images, labels = make_images(200)
        predicted = model(images).argmax(dim=1)
    print(f"test accuracy {(predicted == labels).float().mean():.3f}")


if __name__ == "__main__":
    main()
