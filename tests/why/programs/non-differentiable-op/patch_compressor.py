# non-differentiable-op | uint8/byte/integer/cast/dtype
# evidence: compressor learned: False
# parameters: compress.0.weight, compress.0.bias, compress.2.weight, compress.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(62)


class PatchCodec(nn.Module):
    """Stores an image patch in a few bytes and restores it."""

    def __init__(self, side=6, n_bytes=4):
        super().__init__()
        self.compress = nn.Sequential(nn.Linear(side * side, 32), nn.ReLU(), nn.Linear(32, n_bytes))
        self.restore = nn.Sequential(nn.Linear(n_bytes, 32), nn.ReLU(), nn.Linear(32, side * side))
        self.side = side

    def encode(self, patch):
        level = torch.sigmoid(self.compress(patch.flatten(1)))
        return (level * 255).to(torch.uint8)  #C

    def decode(self, code):
        x = code.float() / 255
        return self.restore(x).view(-1, 1, self.side, self.side)

    def forward(self, patch):
        return self.decode(self.encode(patch))


def gradients_patches(n=256, side=6):
    axis = torch.linspace(-1, 1, side)
    slope = torch.randn(n, 2)
    img = slope[:, 0, None, None] * axis[:, None] + slope[:, 1, None, None] * axis[None, :]
    return TensorDataset(torch.sigmoid(img)[:, None])


def train(codec, loader, epochs=6):
    optimizer = torch.optim.Adam(codec.parameters(), lr=5e-3)
    for epoch in range(epochs):
        codec.train()
        total = 0.0
        for (patch,) in loader:
            loss = F.mse_loss(codec(patch), patch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(loader):.5f}")


def main():
    loader = DataLoader(gradients_patches(), batch_size=32, shuffle=True)
    codec = PatchCodec()
    before = {k: v.clone() for k, v in codec.compress.state_dict().items()}
    train(codec, loader)
    after = codec.compress.state_dict()
    print("compressor learned:", any(not torch.equal(before[k], after[k]) for k in before))


if __name__ == "__main__":
    main()
