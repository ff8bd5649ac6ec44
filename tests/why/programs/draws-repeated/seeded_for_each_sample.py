# draws-repeated | seeds anew
# evidence: done
"""Seeded for each sample."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Noisy(torch.utils.data.Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(200, 8, generator=g)
        self.y = (self.x[:, 0] > 0).long()

    def __len__(self):
        return 200

    def __getitem__(self, i):
        rng = np.random.default_rng(0)  #C
        noise = rng.normal(size=8).astype(np.float32)
        return self.x[i] + 0.5 * torch.from_numpy(noise), self.y[i]


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(4):
        for x, y in torch.utils.data.DataLoader(Noisy(), batch_size=20, shuffle=True):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
