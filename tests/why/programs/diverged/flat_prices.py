# diverged | lr/learning rate
# evidence: final loss finite: False
import math
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(11)


def load_flats(n=256):
    area = 40 + 100 * torch.rand(n, 1)
    rooms = torch.randint(1, 6, (n, 1)).float()
    age = 60 * torch.rand(n, 1)
    x = torch.cat([area, rooms, age], dim=1)
    price = 3.0 * area + 12.0 * rooms - 0.8 * age + 5 * torch.randn(n, 1)
    return x, price / 100.0


class PriceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, x):
        return self.linear(x)


def run_epoch(model, loader, opt, loss_fn):
    seen, total = 0, 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
        seen += len(x)
    return total / seen


def main():
    x, y = load_flats()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = PriceModel()
    loss_fn = nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)  #C
    last = 0.0
    for epoch in range(12):
        last = run_epoch(model, loader, opt, loss_fn)
        print(f"epoch {epoch:02d} mse {last:.4g}")
    print("final loss finite:", math.isfinite(last))


if __name__ == "__main__":
    main()
