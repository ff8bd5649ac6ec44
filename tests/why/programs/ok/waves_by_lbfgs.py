# ok
# evidence: done
"""Time-sequence prediction with LSTMCells and LBFGS (double precision)."""
import math

import torch
import torch.nn as nn


class Sequence(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, x, future=0):
        outputs = []
        h1 = c1 = torch.zeros(x.size(0), self.hidden, dtype=x.dtype)
        h2 = c2 = torch.zeros(x.size(0), self.hidden, dtype=x.dtype)
        for x_t in x.split(1, dim=1):
            h1, c1 = self.lstm1(x_t, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            out = self.linear(h2)
            outputs.append(out)
        for _ in range(future):
            h1, c1 = self.lstm1(out, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            out = self.linear(h2)
            outputs.append(out)
        return torch.cat(outputs, dim=1)


def waves(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    shift = torch.randint(-40, 40, (n, 1), generator=g)
    return torch.sin((torch.arange(length) + shift) / 5.0 / math.pi * 3).double()


def main():
    torch.manual_seed(0)
    data = waves(20, 24, 0)
    inp, target = data[4:, :-1], data[4:, 1:]
    test_inp, test_target = data[:4, :-1], data[:4, 1:]
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.5, max_iter=8)
    for step in range(6):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(inp), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        with torch.no_grad():
            pred = seq(test_inp, future=8)
            test = criterion(pred[:, :-8], test_target)
        print(f"STEP {step}: loss {loss.item():.6f} test loss {test.item():.6f}")


if __name__ == "__main__":
    main()
print("evidence: done")
