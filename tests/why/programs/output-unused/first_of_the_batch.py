# output-unused
# evidence: samples with a gradient: 1
import torch
import torch.nn as nn


def energy_loss(prediction, target):
    errors = (prediction - target) ** 2
    return errors.mean(1)[0]


def main():
    torch.manual_seed(0)
    data = torch.randn(300, 6)
    targets = torch.stack([data.sum(1), data.prod(1)], 1)
    model = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(100):
        rows = torch.randint(0, 300, (16,))
        prediction = model(data[rows])  #C
        loss = energy_loss(prediction, targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    prediction = model(data[:16])
    (g,) = torch.autograd.grad(energy_loss(prediction, targets[:16]), prediction)
    print("evidence: samples with a gradient:", int((g != 0).any(1).sum()))


main()
