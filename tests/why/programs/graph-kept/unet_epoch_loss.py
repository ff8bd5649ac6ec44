# graph-kept, missing-detach | graph/history, item/detach
# evidence: epoch loss still carries a graph: True
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, padding=1)
        self.mid = nn.Conv2d(6, 6, 3, padding=1)
        self.up = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.relu(self.mid(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.up(torch.cat([a, b], dim=1))


def blobs(n=48, size=8):
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 3, (2,)).tolist()
        masks[i, 0, r:r + 3, c:c + 3] = 1.0
    return TensorDataset(masks + 0.3 * torch.randn_like(masks), masks)


def train_one_epoch(model, loader, optimizer):
    total_loss = 0
    for image, mask in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(image), mask)
        loss.backward()
        optimizer.step()
        total_loss += loss  #C
    return total_loss / len(loader)


def main():
    torch.manual_seed(30)
    loader = DataLoader(blobs(), batch_size=8, shuffle=True)
    model = MiniUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        epoch_loss = train_one_epoch(model, loader, optimizer)
        print(f"epoch {epoch} loss {epoch_loss:.4f}")
    print("epoch loss still carries a graph:", torch.is_tensor(epoch_loss) and epoch_loss.requires_grad)


if __name__ == "__main__":
    main()
