# class-ignored | padding_idx
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


class Fares(nn.Module):
    def __init__(self, cities=7, width=4):
        super().__init__()
        self.city = nn.Embedding(cities, width, padding_idx=0)  #C
        self.out = nn.Linear(width + 1, 1)

    def forward(self, city, distance):
        return self.out(torch.cat([self.city(city), distance[:, None]], 1)).squeeze(-1)  #C


def main():
    torch.manual_seed(0)
    model, base = Fares(), torch.randn(7)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(12):
        city, distance = torch.randint(0, 7, (32,)), torch.rand(32)
        loss = F.mse_loss(model(city, distance), base[city] + distance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
