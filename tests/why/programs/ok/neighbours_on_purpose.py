# ok
# evidence: done
# a sampled subgraph: a node's prediction depends on the other rows, through the adjacency that is given with them
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphLayer(nn.Module):
    def __init__(self, given, made):
        super().__init__()
        self.own, self.others = nn.Linear(given, made), nn.Linear(given, made)

    def forward(self, x, adjacency):
        return self.own(x) + self.others(adjacency @ x)


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphLayer(6, 16), GraphLayer(16, 2)

    def forward(self, x, adjacency):
        return self.second(torch.relu(self.first(x, adjacency)), adjacency)


def main():
    torch.manual_seed(0)
    group = torch.randint(0, 2, (200,))
    links = (torch.rand(200, 200) < 0.02 + 0.08 * (group[:, None] == group)).float()
    links = ((links + links.T) > 0).float()
    x = torch.randn(200, 6) + 0.5 * group[:, None]
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(60):
        rows = torch.randperm(200)[:64]
        part = links[rows][:, rows]
        part = part / part.sum(1, keepdim=True).clamp(min=1)
        loss = F.cross_entropy(model(x[rows], part), group[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
print("evidence: done")
