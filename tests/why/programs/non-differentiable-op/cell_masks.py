# non-differentiable-op, loss-detached | >/gt/threshold/compar
# evidence: main head trained: False
# parameters: main_head.weight, main_head.bias, mid.weight, mid.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(21)


def make_cells(n=96, size=12):
    imgs, masks = [], []
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    for _ in range(n):
        cy, cx = torch.randint(3, size - 3, (2,)).tolist()
        mask = ((yy - cy) ** 2 + (xx - cx) ** 2 <= 6).float()
        imgs.append(mask + 0.3 * torch.randn(size, size))
        masks.append(mask)
    return torch.stack(imgs)[:, None], torch.stack(masks)[:, None]


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, padding=1)
        self.mid = nn.Conv2d(8, 8, 3, padding=1)
        self.aux_head = nn.Conv2d(8, 1, 1)
        self.main_head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        h = F.relu(self.down(x))
        aux = self.aux_head(h)
        h = F.relu(self.mid(h)) + h
        return self.main_head(h), aux


def dice_loss(logits, mask, smooth=1.0):
    pred = (torch.sigmoid(logits) > 0.5).float()  #C
    inter = (pred * mask).sum(dim=(1, 2, 3))
    union = pred.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + smooth) / (union + smooth)).mean()


def criterion(main, aux, mask):
    return dice_loss(main, mask) + 0.4 * F.binary_cross_entropy_with_logits(aux, mask)


def main():
    loader = DataLoader(TensorDataset(*make_cells()), batch_size=16, shuffle=True)
    net = SegNet()
    w0 = net.main_head.weight.detach().clone()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(4):
        running = 0.0
        for img, mask in loader:
            main_out, aux_out = net(img)
            loss = criterion(main_out, aux_out, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch + 1} loss {running / len(loader):.4f}")
    print("main head trained:", not torch.equal(w0, net.main_head.weight))


if __name__ == "__main__":
    main()
