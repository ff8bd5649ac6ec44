# input-scaled-twice | once more
# evidence: done
"""Bytes divided twice."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Digits(torch.utils.data.Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.y = torch.randint(0, 4, (256,), generator=g)
        self.x = torch.randint(0, 60, (256, 8, 8), generator=g).to(torch.uint8)
        for i, c in enumerate(self.y):
            self.x[i, 2 * c:2 * c + 2] += 180

    def __len__(self):
        return 256

    def __getitem__(self, i):
        return self.x[i].float() / 255, self.y[i]


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(6):
        for x, y in torch.utils.data.DataLoader(Digits(), batch_size=32, shuffle=True):
            loss = F.cross_entropy(net(x / 255), y)  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
print("evidence: done")
