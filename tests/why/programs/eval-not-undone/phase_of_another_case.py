# eval-not-undone | never ran
# evidence: done
"""Phase of another case."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    sets = {"train": (x[:200], y[:200]), "val": (x[200:], y[200:])}
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(10):
        for phase in ("train", "val"):
            if phase == "Train":  #C
                net.train()
            else:
                net.eval()
            a, b = sets[phase]
            for i in range(0, len(a), 50):
                with torch.set_grad_enabled(phase == "train"):
                    loss = F.cross_entropy(net(a[i:i + 50]), b[i:i + 50])
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
    print(loss.item())


main()
print("evidence: done")
