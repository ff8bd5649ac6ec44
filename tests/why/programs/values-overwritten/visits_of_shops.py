# values-overwritten | index, lost
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


class Basket(nn.Module):
    """The sum of what each customer bought."""

    def __init__(self, goods=12, width=6):
        super().__init__()
        self.good, self.out = nn.Embedding(goods, width), nn.Linear(width, 1)

    def forward(self, customers, goods, count):
        total = torch.zeros(count, self.good.embedding_dim)
        total[customers] += self.good(goods)  #C
        return self.out(total).squeeze(-1)


def main():
    torch.manual_seed(0)
    net, price = Basket(), torch.rand(12)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(10):
        customers, goods = torch.randint(0, 8, (40,)), torch.randint(0, 12, (40,))
        spent = torch.zeros(8).index_add(0, customers, price[goods])
        loss = F.mse_loss(net(customers, goods, 8), spent)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
