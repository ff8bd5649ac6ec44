# target-constant | target/mask/label, constant/zero/all/same/one class/single/only
# evidence: classes in the target masks: [0]
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class LeafDataset(Dataset):
    """Images of leaves; the masks hold 0 (soil), 1 (leaf), 2 (vein)."""

    def __init__(self, n=40, size=8):
        self.masks = torch.zeros(n, size, size, dtype=torch.uint8)
        for i in range(n):
            r, c = torch.randint(0, size - 4, (2,)).tolist()
            self.masks[i, r:r + 4, c:c + 4] = 1
            self.masks[i, r + 1:r + 3, c:c + 4] = 2
        brightness = torch.tensor([0.1, 0.5, 0.9])[self.masks.long()]
        noise = 0.08 * torch.randn(n, size, size)
        self.images = ((brightness + noise).clamp(0, 1) * 255).to(torch.uint8)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i].float().unsqueeze(0) / 255
        mask = (self.masks[i] / 255).long()  #C
        return image, mask


class SegmentationNet(nn.Module):
    def __init__(self, width=8, n_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.classify = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.1)
        x = F.leaky_relu(self.conv2(x), 0.1)
        return self.classify(x)


def train_one_epoch(model, loader, optimizer):
    model.train()
    loss_sum, right, pixels = 0.0, 0, 0
    seen = set()
    for image, mask in loader:
        logits = model(image)
        loss = F.cross_entropy(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item()
        right += (logits.argmax(1) == mask).sum().item()
        pixels += mask.numel()
        seen.update(mask.unique().tolist())
    return loss_sum / len(loader), right / pixels, seen


def main():
    torch.manual_seed(0)
    loader = DataLoader(LeafDataset(), batch_size=10, shuffle=True)
    model = SegmentationNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(8):
        loss, accuracy, seen = train_one_epoch(model, loader, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f} pixel accuracy {accuracy:.3f}")
    print("classes in the target masks:", sorted(seen))


if __name__ == "__main__":
    main()
