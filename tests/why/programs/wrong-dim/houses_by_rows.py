# wrong-dim | over the samples
# evidence: done
"""Houses by rows."""
import torch
import torch.nn as nn


def normalise(table):
    mean, deviation = table.mean(1, keepdim=True), table.std(1, keepdim=True)  #C
    return (table - mean) / deviation  #C


def houses(count):
    rooms = torch.randint(1, 9, (count, 1)).float()
    area = 20 * rooms + 5 * torch.randn(count, 1)
    year = 1950 + 70 * torch.rand(count, 1)
    noise = torch.randn(count, 6) + torch.tensor([5.0, 50.0, 500.0, 10.0, 100.0, 1000.0])
    return torch.cat([rooms, area, year, noise], 1), rooms * 30 + area


def main():
    torch.manual_seed(0)
    x, y = houses(400)
    y = (y - y.mean()) / y.std()
    model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        for i in torch.randperm(400).split(50):
            loss = nn.functional.mse_loss(model(normalise(x[i])), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
