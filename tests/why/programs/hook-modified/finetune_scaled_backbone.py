# hook-modified, zero-factor | hook
# evidence: backbone moved: False
# parameters: backbone.0.weight, backbone.0.bias, backbone.2.weight, backbone.2.bias
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    head_lr: float = 0.1
    backbone_lr: float = 0.02
    epochs: int = 4
    batch_size: int = 32
    seed: int = 18


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 24))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.head(self.backbone(x))


def slow_down(module, factor):
    """Give everything below this module a smaller share of the update."""

    def scale(mod, grad_input, grad_output):
        return tuple(None if g is None else g * factor for g in grad_input)  #C

    return module.register_full_backward_hook(scale)  #C


def dataset(n=256):
    x = torch.randn(n, 12)
    y = (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 0.3).long()
    return TensorDataset(x, y)


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    model = Classifier()
    loader = DataLoader(dataset(), batch_size=cfg.batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.head_lr, momentum=0.9)
    slow_down(model.head, cfg.backbone_lr // cfg.head_lr)  #C
    start = [p.detach().clone() for p in model.backbone.parameters()]
    for epoch in range(cfg.epochs):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / len(loader.dataset):.4f}")
    moved = any(not torch.equal(a, b) for a, b in zip(start, model.backbone.parameters()))
    print("backbone moved:", moved)


if __name__ == "__main__":
    main()
