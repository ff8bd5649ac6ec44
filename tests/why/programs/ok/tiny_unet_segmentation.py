# ok
# evidence: border pixels excluded: True, val dice improved: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn

IGNORE = -100


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, ch=8, classes=2):
        super().__init__()
        self.d1, self.d2 = conv(1, ch), conv(ch, 2 * ch)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout2d(0.2)
        self.up = nn.ConvTranspose2d(2 * ch, ch, 2, stride=2)
        self.u1 = conv(2 * ch, ch)
        self.out = nn.Conv2d(ch, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.drop(self.d2(self.pool(a)))
        return self.out(self.u1(torch.cat([a, self.up(b)], dim=1)))


def scenes(n, size=12):
    """Discs on noise; a one pixel frame is unlabeled."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.randint(3, size - 3, (n, 2))
    r = torch.randint(2, 4, (n,))
    inside = (yy - c[:, :1, None]) ** 2 + (xx - c[:, 1:, None]) ** 2 <= (r ** 2)[:, None, None]
    img = inside.float().unsqueeze(1) + 0.5 * torch.randn(n, 1, size, size)
    mask = inside.long()
    mask[:, 0, :] = mask[:, -1, :] = IGNORE
    mask[:, :, 0] = mask[:, :, -1] = IGNORE
    return img, mask


@torch.no_grad()
def dice(model, img, mask):
    model.eval()
    pred = model(img).argmax(1)
    valid = mask != IGNORE
    p, t = (pred == 1) & valid, (mask == 1) & valid
    return (2 * (p & t).sum() / (p.sum() + t.sum() + 1e-6)).item()


def main():
    torch.manual_seed(26)
    model = UNet()
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]), ignore_index=IGNORE)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    val_img, val_mask = scenes(32)
    first = dice(model, val_img, val_mask)
    losses = []
    for step in range(30):
        model.train()
        img, mask = scenes(12)
        loss = criterion(model(img), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            last = dice(model, val_img, val_mask)
            print(f"step {step + 1} loss {losses[-1]:.3f} val dice {last:.3f}")
    print(f"border pixels excluded: {bool((val_mask == IGNORE).any())}, val dice improved: {last > first}, "
          f"loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
