# values-constant | argmax
# evidence: done
"""Best of one."""
import torch
import torch.nn as nn


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()  #C


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 6)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for i in torch.randperm(300).split(50):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x[i]).squeeze(1), y[i].float())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, accuracy(model, x, y))


main()
print("evidence: done")
