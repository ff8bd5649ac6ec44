# ok
# evidence: restored checkpoint scores best: True, rmse went down: True
import os
import tempfile

import torch
import torch.nn as nn


class TCN(nn.Module):
    """Causal convolutions over a scalar series."""

    def __init__(self, ch=12):
        super().__init__()
        self.c1 = nn.Conv1d(1, ch, 2)
        self.c2 = nn.Conv1d(ch, ch, 2, dilation=2)
        self.out = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.c1(nn.functional.pad(x, (1, 0))))
        x = torch.tanh(self.c2(nn.functional.pad(x, (2, 0))))
        return self.out(x)


def series(n, length=20):
    x = torch.zeros(n, length)
    x[:, :2] = torch.randn(n, 2)
    for t in range(2, length):
        x[:, t] = 0.8 * x[:, t - 1] - 0.5 * x[:, t - 2] + 0.2 * torch.randn(n)
    return x.unsqueeze(1)


def rmse(model, data):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(data[..., :-1]), data[..., 1:]).sqrt().item()


def main():
    torch.manual_seed(33)
    train, val = series(64), series(32)
    model = TCN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best.pt")
        best, wait, scores, start = float("inf"), 0, [], rmse(model, val)
        for epoch in range(12):
            model.train()
            for batch in train[torch.randperm(64)].split(16):
                loss = nn.functional.mse_loss(model(batch[..., :-1]), batch[..., 1:])
                opt.zero_grad()
                loss.backward()
                opt.step()
            scores.append(rmse(model, val))
            print(f"epoch {epoch} rmse {scores[-1]:.4f}")
            if scores[-1] < best:
                best, wait = scores[-1], 0
                torch.save(model.state_dict(), path)
            else:
                wait += 1
                if wait == 3:
                    break
        model.load_state_dict(torch.load(path))
    final = rmse(model, val)
    print(f"restored checkpoint scores best: {abs(final - min(scores)) < 1e-6}, rmse went down: {final < start}")


if __name__ == "__main__":
    main()
