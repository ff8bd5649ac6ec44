# loss-scaled-twice, update-too-small | accum/divid/scaled
# evidence: weight of one update window is one: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 4


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1)
        self.c3 = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        return self.c3(F.relu(self.c2(F.relu(self.c1(x)))))


def stripes(n=64, size=6):
    y = torch.randint(0, 3, (n, size, 1)).expand(n, size, size).contiguous()
    x = (y.float() - 1).unsqueeze(1) + 0.2 * torch.randn(n, 1, size, size)
    return TensorDataset(x, y)


def pixel_loss(logits, target):
    # averaged over the accumulation window
    return F.cross_entropy(logits, target) / ACCUM  #C


class Accumulator:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.count, self.weight, self.windows = 0, 0.0, []

    def backward(self, loss, raw):
        scaled = loss / ACCUM  #C
        scaled.backward()
        self.weight += scaled.item() / raw
        self.count += 1
        if self.count % ACCUM == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.windows.append(self.weight)
            self.weight = 0.0


def main():
    torch.manual_seed(80)
    loader = DataLoader(stripes(), batch_size=4, shuffle=True)
    model = Segmenter()
    acc = Accumulator(model, torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9))
    for epoch in range(4):
        total = 0.0
        for x, y in loader:
            logits = model(x)
            raw = F.cross_entropy(logits.detach(), y).item()
            acc.backward(pixel_loss(logits, y), raw)
            total += raw
        print(f"epoch {epoch} pixel loss {total / len(loader):.4f}")
    print("weight of one update window is one:", abs(acc.windows[-1] - 1) < 1e-3)


if __name__ == "__main__":
    main()
