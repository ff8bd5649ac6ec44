# ok
# evidence: trained
# Writes by index that lose nothing: each place once, or added up.
import torch
import torch.nn.functional as F
from torch import nn


class Scatter(nn.Module):
    def __init__(self, goods=12, width=6):
        super().__init__()
        self.good, self.out = nn.Embedding(goods, width), nn.Linear(width, 1)

    def forward(self, customers, goods, count):
        values = self.good(goods)
        total = torch.zeros(count, values.shape[1]).index_add(0, customers, values)
        last = torch.zeros(count, values.shape[1])
        last[customers] = values
        every = torch.arange(count)
        total[every] = total[every] + 0.1 * last[every]
        return self.out(total).squeeze(-1)


def nearest(points):
    """The nearest other point of each."""
    distances = torch.cdist(points, points) + torch.diag(torch.full((len(points),), 1e9))
    return distances.min(dim=1).values


def main():
    torch.manual_seed(0)
    net, price = Scatter(), torch.rand(12)
    users = nn.Embedding(9, 6)
    optimizer = torch.optim.Adam([*net.parameters(), *users.parameters()], lr=1e-2)
    for _ in range(10):
        customers, goods = torch.randint(0, 8, (40,)), torch.randint(0, 12, (40,))
        spent = torch.zeros(8).index_add(0, customers, price[goods])
        loss = F.mse_loss(net(customers, goods, 8), spent) - 0.01 * nearest(users(torch.arange(9))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
