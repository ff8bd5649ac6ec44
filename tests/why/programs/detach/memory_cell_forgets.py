# detach | time
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


class Counter(nn.Module):
    """Counts the ones of a sequence."""

    def __init__(self, hidden=12):
        super().__init__()
        self.cell = nn.LSTMCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, bits):
        state = None
        for t in range(bits.shape[1]):
            if state is not None:
                state = tuple(s.detach() for s in state)  #C
            state = self.cell(bits[:, t:t + 1], state)
        return self.out(state[0]).squeeze(-1)


def main():
    torch.manual_seed(0)
    net = Counter()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(8):
        bits = torch.randint(0, 2, (16, 7)).float()
        loss = F.mse_loss(net(bits), bits.sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
