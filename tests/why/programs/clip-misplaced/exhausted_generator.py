# clip-misplaced
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(-1)


def series_batch(n=32, length=20):
    phase = torch.rand(n, 1) * 6.28
    freq = 0.2 + 0.3 * torch.rand(n, 1)
    t = torch.arange(length + 1).float()[None]
    s = torch.sin(freq * t + phase)
    x, y = s[:, :-1], s[:, -1]
    # occasional sensor spikes in the target
    spikes = torch.rand(n) < 0.03
    y = torch.where(spikes, y * 80.0, y)
    return x.unsqueeze(-1), y


@torch.no_grad()
def clean_mse(model):
    g = torch.random.get_rng_state()
    torch.manual_seed(99)
    x, y = series_batch(256)
    torch.random.set_rng_state(g)
    keep = y.abs() <= 1
    return F.mse_loss(model(x)[keep], y[keep]).item()


def main():
    torch.manual_seed(0)
    model = Forecaster()
    params = model.parameters()  #C
    optimizer = torch.optim.SGD(params, lr=0.1)  #C
    max_norm = 0.5
    for step in range(300):
        x, y = series_batch()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, max_norm)  #C
        optimizer.step()
        if step % 75 == 0:
            print(f"step {step} loss {loss.item():.3f} clean mse {clean_mse(model):.4f}")
    print(f"clean mse {clean_mse(model):.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
