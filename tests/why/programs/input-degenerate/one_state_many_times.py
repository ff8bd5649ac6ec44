# input-degenerate | copies, same
# evidence: different rows in a batch: 1
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Walk:
    """A walk whose position is one array, moved in place."""

    def __init__(self):
        self.position = np.zeros(3, dtype=np.float32)

    def move(self, rng):
        self.position += rng.normal(size=3).astype(np.float32)
        return self.position


def main():
    torch.manual_seed(0)
    rng, walk, visited = np.random.default_rng(0), Walk(), []
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        visited.append((walk.move(rng), float(step)))  #C
        if step >= 20:
            chosen = rng.integers(0, len(visited), size=12)
            x = torch.from_numpy(np.stack([visited[i][0] for i in chosen]))
            y = torch.tensor([[visited[i][1] / 40] for i in chosen])
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"different rows in a batch: {len(torch.unique(x, dim=0))}")


main()
