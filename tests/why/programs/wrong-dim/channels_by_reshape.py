# wrong-dim | reshape, permute/transpose
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


def load(count=96, height=10, width=12):
    """Images as a camera gives them: height, width, colour."""
    images = torch.zeros(count, height, width, 3)
    labels = torch.randint(0, 3, (count,))
    for i, label in enumerate(labels.tolist()):
        images[i, :, :, label] = 1.0
    return images + 0.1 * torch.randn(count, height, width, 3), labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))

    def forward(self, images):
        return self.body(images.reshape(len(images), 3, *images.shape[1:3]))  #C


def main():
    torch.manual_seed(0)
    images, labels = load()
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for start in range(0, 96, 12):
        loss = F.cross_entropy(net(images[start:start + 12]), labels[start:start + 12])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
