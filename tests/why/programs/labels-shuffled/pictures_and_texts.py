# labels-shuffled
# evidence: done
"""Contrastive alignment of two modalities (images and captions) in one space."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def paired_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.Generator().manual_seed(123)
    a, b = torch.randn(6, 24, generator=mix), torch.randn(6, 18, generator=mix)
    concept = torch.randn(n, 6, generator=g)
    image = concept @ a + 0.1 * torch.randn(n, 24, generator=g)
    text = concept @ b + 0.1 * torch.randn(n, 18, generator=g)
    return image, text


class Encoder(nn.Module):
    def __init__(self, d_in, d_out=16, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, hidden), nn.GELU(), nn.Linear(hidden, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = Encoder(24), Encoder(18)
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, image, text):
        return self.log_scale.exp() * self.image(image) @ self.text(text).T


def info_nce(logits):
    labels = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels))


def build_loaders(image, text, batch_size=64):
    image_loader = DataLoader(TensorDataset(image), batch_size, shuffle=True, drop_last=True)  #C
    text_loader = DataLoader(TensorDataset(text), batch_size, shuffle=True, drop_last=True)  #C
    return image_loader, text_loader


def train(model, image_loader, text_loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-3)
    for epoch in range(epochs):
        total = 0.0
        for (image,), (text,) in zip(image_loader, text_loader):  #C
            loss = info_nce(model(image, text))
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                model.log_scale.clamp_(max=math.log(100.0))
            total += loss.item()
        print(f"epoch {epoch:2d} loss {total / len(image_loader):.4f}")


@torch.no_grad()
def retrieval(model, image, text):
    pred = model(image, text).argmax(1)
    return (pred == torch.arange(len(image))).float().mean().item()


def main():
    torch.manual_seed(0)
    image, text = paired_data(512, seed=1)
    model = Clip()
    train(model, *build_loaders(image, text), epochs=9)
    print(f"retrieval at 1 among 100: {retrieval(model, *paired_data(100, seed=2)):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
