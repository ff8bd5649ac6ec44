# self-compared | equal
# evidence: done
"""One view of each sample."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def main():
    torch.manual_seed(0)
    enc = Encoder()
    opt = torch.optim.SGD(enc.parameters(), lr=0.1, momentum=0.9)
    data = torch.randn(256, 16)
    for step in range(40):
        x = data[torch.randint(0, 256, (32,))]
        view = augment(x)
        a = enc(view)
        b = enc(view)  #C
        logits = a @ b.t() / 0.1
        loss = F.cross_entropy(logits, torch.arange(32))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
