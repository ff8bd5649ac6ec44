# unused-in-loss | loss
# evidence: attention weights changed: False
# parameters: block1.se.fc1.weight, block1.se.fc1.bias, block1.se.fc2.weight, block1.se.fc2.bias, block2.se.fc1.weight, block2.se.fc1.bias, block2.se.fc2.weight, block2.se.fc2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)


class SqueezeExcite(nn.Module):
    def __init__(self, ch, r=2):
        super().__init__()
        self.fc1 = nn.Linear(ch, ch // r)
        self.fc2 = nn.Linear(ch // r, ch)

    def forward(self, x):
        s = x.mean(dim=(2, 3))
        s = torch.sigmoid(self.fc2(F.relu(self.fc1(s))))
        return x * s[:, :, None, None]


class Block(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.se = SqueezeExcite(ch)

    def forward(self, x):
        out = F.relu(self.conv1(x))
        out = self.conv2(out)
        self.se(out)  #C
        return F.relu(out + x)


class SmallNet(nn.Module):
    def __init__(self, ch=8, n_classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.block1 = Block(ch)
        self.block2 = Block(ch)
        self.fc = nn.Linear(ch, n_classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.block2(self.block1(x))
        return self.fc(x.mean(dim=(2, 3)))


def synth(n=128):
    y = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 3, 8, 8)
    x[torch.arange(n), y % 3] += 1.0
    x[y == 3] -= 1.0
    return TensorDataset(x, y)


def main():
    loader = DataLoader(synth(), batch_size=32, shuffle=True)
    net = SmallNet()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    for epoch in range(4):
        correct = 0
        for x, y in loader:
            out = net(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            correct += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f} acc {correct / 128:.3f}")
    changed = any((p != start[n]).any().item() for n, p in net.named_parameters() if ".se." in n)
    print("attention weights changed:", changed)


if __name__ == "__main__":
    main()
