# result-dropped | nobody keeps, no effect
# evidence: largest gradient is above 0.05: True
import torch
from torch import nn

torch.manual_seed(5)
LIMIT = 0.05


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1])


def clamp_gradients(model):
    largest = 0.0
    for p in model.parameters():
        torch.clamp(p.grad, -LIMIT, LIMIT)  #C
        largest = max(largest, p.grad.abs().max().item())
    return largest


def series(count):
    generator = torch.Generator().manual_seed(6)
    for _ in range(count):
        start = torch.rand(16, 1, generator=generator) * 6
        wave = torch.sin(start + torch.arange(13) * 0.4)
        yield wave[:, :12, None], wave[:, 12:]


def main():
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    largest = 0.0
    for x, y in series(25):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        largest = max(largest, clamp_gradients(model))
        optimizer.step()
    print(f"largest gradient is above {LIMIT}: {largest > LIMIT}")


if __name__ == "__main__":
    main()
