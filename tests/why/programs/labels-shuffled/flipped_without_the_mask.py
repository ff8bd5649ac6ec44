# labels-shuffled | flipped
# evidence: done
"""Flipped without the mask."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Shapes(torch.utils.data.Dataset):
    def __init__(self, n=200):
        g = torch.Generator().manual_seed(3)
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(16, 16)
            i, j = torch.randint(0, 8, (2,), generator=g).tolist()
            mask[i:i + 6, j:j + 6] = 1
            self.masks.append(mask)
            self.images.append((mask + 0.2 * torch.randn(16, 16, generator=g))[None])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)  #C
        return image, mask


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1)
        self.c3 = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.c3(F.relu(self.c2(F.relu(self.c1(x)))))


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(4):
        for image, mask in torch.utils.data.DataLoader(Shapes(), batch_size=20, shuffle=True):
            loss = F.binary_cross_entropy_with_logits(net(image).squeeze(1), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
