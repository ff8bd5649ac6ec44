# wrong-dim
# evidence: done
"""Semantic segmentation of synthetic scenes with a small encoder-decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_CLASSES = 3


def make_scenes(n, side=16):
    mask = torch.zeros(n, side, side, dtype=torch.long)
    for i in range(n):
        for cls in (1, 2):
            r, c = torch.randint(0, side - 7, (2,)).tolist()
            mask[i, r:r + 7, c:c + 7] = cls
    palette = torch.tensor([[0.1, 0.2, 0.1], [0.9, 0.2, 0.3], [0.2, 0.4, 0.9]])
    img = palette[mask].permute(0, 3, 1, 2) + 0.15 * torch.randn(n, 3, side, side)
    return img, mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = block(3, 12), block(12, 24)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.fuse = block(24, 12)
        self.classify = nn.Conv2d(12, N_CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.classify(self.fuse(torch.cat([a, self.up(b)], dim=1)))


def pixel_loss(logits, mask):
    flat = logits.reshape(-1, N_CLASSES)  #C
    return F.cross_entropy(flat, mask.reshape(-1))  #C


@torch.no_grad()
def mean_iou(model, loader):
    model.eval()
    inter, union = torch.zeros(N_CLASSES), torch.zeros(N_CLASSES)
    for img, mask in loader:
        pred = model(img).argmax(1)
        for c in range(N_CLASSES):
            inter[c] += ((pred == c) & (mask == c)).sum()
            union[c] += ((pred == c) | (mask == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()


def main():
    torch.manual_seed(0)
    img, mask = make_scenes(160)
    train_loader = DataLoader(TensorDataset(img[:128], mask[:128]), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(img[128:], mask[128:]), batch_size=32)
    model = MiniUNet()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-2, total_steps=5 * len(train_loader))
    for epoch in range(5):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = pixel_loss(model(x), y)  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train_loader):.4f} "
              f"val mIoU {mean_iou(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
