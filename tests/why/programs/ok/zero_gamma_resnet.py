# ok
# evidence: last gammas left zero: True, inner convolutions moved: True, loss went down: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(ch)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(ch)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + x)


class ResNet(nn.Module):
    def __init__(self, ch=8, blocks=2, classes=3, zero_init_residual=True):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU())
        self.layers = nn.Sequential(*[BasicBlock(ch) for _ in range(blocks)])
        self.fc = nn.Linear(ch, classes)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, BasicBlock):
                    nn.init.zeros_(m.bn2.weight)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    img = torch.zeros(n, 1, 8, 8)
    img[y == 0, :, ::2, :] = 1.0
    img[y == 1, :, :, ::2] = 1.0
    img[y == 2, :, ::2, ::2] = 2.0
    return img + 0.5 * torch.randn_like(img), y


def main():
    torch.manual_seed(8)
    model = ResNet()
    inner = model.layers[0].conv1.weight.detach().clone()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    model.train()
    for step in range(30):
        x, y = stripes(24)
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1}: {losses[-1]:.4f}")
    left = all(b.bn2.weight.abs().max().item() > 0 for b in model.layers)
    moved = not torch.allclose(inner, model.layers[0].conv1.weight.detach())
    print(f"last gammas left zero: {left}, inner convolutions moved: {moved}, "
          f"loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
