# update-too-small | update/lr/learning rate/step, small/round/precision/large/lost/resolution
# evidence: station positions identical to their initial values: True
# parameters: position
import torch
from torch import nn

ORIGIN = torch.tensor([4_512_300.0, 5_104_700.0])


class Stations(nn.Module):
    """Places a few receivers in a yard so that every tag is near to one of them."""

    def __init__(self, tags, n_stations=4):
        super().__init__()
        first = tags[torch.randperm(len(tags))[:n_stations]]
        self.position = nn.Parameter(first.clone())
        self.log_range = nn.Parameter(torch.zeros(n_stations))

    def forward(self, tags):
        offset = tags[:, None, :] - self.position[None]
        d2 = (offset ** 2).sum(dim=-1)
        score = -0.5 * d2 * torch.exp(-2 * self.log_range) - 2 * self.log_range
        return torch.logsumexp(score, dim=1)


def survey(n=120):
    """Tag positions in metres (national grid), four groups inside a yard."""
    groups = torch.tensor([[-4.0, -4.0], [-4.0, 4.0], [4.0, -4.0], [4.0, 4.0]])
    pick = torch.randint(0, 4, (n,))
    return ORIGIN + groups[pick] + 0.7 * torch.randn(n, 2)  #C


def place(stations, tags, steps=60, lr=0.05):
    optimizer = torch.optim.Adam(stations.parameters(), lr=lr)  #C
    for step in range(steps):
        batch = tags[torch.randperm(len(tags))[:40]]
        loss = -stations(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step}: negative log-likelihood {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    tags = survey()
    stations = Stations(tags)
    start = stations.position.detach().clone()
    place(stations, tags)
    print("ranges:", [round(r, 1) for r in stations.log_range.exp().tolist()])
    print("station positions identical to their initial values:", torch.equal(stations.position, start))


if __name__ == "__main__":
    main()
