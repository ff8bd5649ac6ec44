# learning-rate-zero, scheduler-per-batch | lr/learning rate, 0/zero, decay/poly/schedul/epochs/iter/formula
# evidence: steps with learning rate zero: 24 of 32
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    base_lr: float = 0.5
    power: float = 0.9
    epochs: int = 8
    batch_size: int = 12
    width: int = 8


class SegNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(1, width, 3, padding=1)
        self.b = nn.Conv2d(width, width, 3, padding=2, dilation=2)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.a(x))
        x = torch.tanh(self.b(x))
        return self.head(x).squeeze(1)


def make_cells(n, size=10):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    center = torch.randint(2, size - 2, (n, 2))
    dist = (yy - center[:, 0, None, None]) ** 2 + (xx - center[:, 1, None, None]) ** 2
    mask = (dist <= 5).float()
    image = mask + 0.5 * torch.randn(n, size, size)
    return TensorDataset(image.unsqueeze(1), mask)


def set_poly_lr(optimizer, cfg, it, max_iter):
    lr = cfg.base_lr * max(0.0, 1 - it / max_iter) ** cfg.power  #C
    for group in optimizer.param_groups:
        group["lr"] = lr  #C
    return lr


def train(model, loader, cfg):
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.base_lr, momentum=0.9)
    lrs = []
    it = 0
    for epoch in range(cfg.epochs):
        total = 0.0
        for image, mask in loader:
            lrs.append(set_poly_lr(optimizer, cfg, it, max_iter=cfg.epochs))  #C
            loss = F.binary_cross_entropy_with_logits(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            it += 1
        print(f"epoch {epoch}: lr {lrs[-1]:.4f} loss {total / len(loader):.4f}")
    return lrs


def main():
    torch.manual_seed(0)
    cfg = Config()
    loader = DataLoader(make_cells(48), batch_size=cfg.batch_size, shuffle=True)
    lrs = train(SegNet(cfg.width), loader, cfg)
    print(f"steps with learning rate zero: {sum(lr == 0.0 for lr in lrs)} of {len(lrs)}")


if __name__ == "__main__":
    main()
