# zero-factor, term-without-influence | zero/0
# evidence: depth decoder moved: False
# parameters: depth.0.weight, depth.0.bias, depth.2.weight, depth.2.bias
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 6
    ramp_epochs: int = 6
    depth_weight: float = 1.0
    lr: float = 5e-3
    seed: int = 90


class MultiTaskNet(nn.Module):
    def __init__(self, ch=10):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.seg = nn.Conv2d(ch, 2, 1)
        self.depth = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1))

    def forward(self, x):
        h = self.encoder(x)
        return self.seg(h), self.depth(h)


def rooms(n=64, size=8):
    x = torch.rand(n, 3, size, size)
    seg = (x[:, 0] > x[:, 1]).long()
    depth = x[:, 2:] * 2 - x[:, :1]
    return TensorDataset(x, seg, depth)


def ramp(epoch, cfg):
    """Weight of the depth task, growing over the first epochs."""
    return cfg.depth_weight * min(1.0, epoch // cfg.ramp_epochs)  #C


def train(cfg):
    torch.manual_seed(cfg.seed)
    loader = DataLoader(rooms(), batch_size=16, shuffle=True)
    model = MultiTaskNet()
    before = [p.detach().clone() for p in model.depth.parameters()]
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        weight = ramp(epoch, cfg)
        seg_sum = depth_sum = 0.0
        for x, seg, depth in loader:
            seg_logits, depth_pred = model(x)
            seg_loss = F.cross_entropy(seg_logits, seg)
            depth_loss = F.l1_loss(depth_pred, depth)
            loss = seg_loss + weight * depth_loss  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
            seg_sum += seg_loss.item()
            depth_sum += depth_loss.item()
        print(f"epoch {epoch} seg {seg_sum / len(loader):.3f} depth {depth_sum / len(loader):.3f}")
    return any(not torch.equal(a, b) for a, b in zip(before, model.depth.parameters()))


if __name__ == "__main__":
    print("depth decoder moved:", train(Config()))
