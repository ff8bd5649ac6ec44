# wrong-loss-input | exchange
# evidence: done
"""Labels in place of chances."""
import torch
import torch.nn as nn


def weighted_bce(prob, target, eps=1e-4):
    p = prob.clamp(eps, 1 - eps)
    return -(3 * target * p.log() + (1 - target) * (1 - p).log()).mean()


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 6)
    y = (x[:, 0] + x[:, 1] > 1).float()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        for i in torch.randperm(300).split(50):
            loss = weighted_bce(y[i], model(x[i]).squeeze(1))  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
