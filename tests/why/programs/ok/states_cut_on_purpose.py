# ok
# evidence: trained
# A state that is cut between chunks of a stream, and predictions that are fed back without their history but each judged.
import torch
import torch.nn.functional as F
from torch import nn


class Cell(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.cell, self.out = nn.GRUCell(1, hidden), nn.Linear(hidden, 1)

    def forward(self, chunk, h):
        outs = []
        for t in range(chunk.shape[1]):
            h = self.cell(chunk[:, t:t + 1], h)
            outs.append(self.out(h))
        return torch.cat(outs, 1), h


def stream(net, optimizer):
    series = torch.sin(torch.arange(0, 60, dtype=torch.float) / 3).repeat(4, 1)
    h = torch.zeros(4, 12)
    for start in range(0, 48, 6):
        prediction, h = net(series[:, start:start + 6], h.detach())
        loss = F.mse_loss(prediction, series[:, start + 1:start + 7])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def rollout(optimizer, step):
    for _ in range(8):
        state, loss = torch.randn(8, 3), 0.0
        truth = state
        for _ in range(4):
            state, truth = step(state.detach()), 0.9 * truth
            loss = loss + F.mse_loss(state, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    net, step = Cell(), nn.Linear(3, 3)
    stream(net, torch.optim.Adam(net.parameters(), lr=1e-2))
    rollout(torch.optim.Adam(step.parameters(), lr=1e-2), step)
    print("trained")


main()
