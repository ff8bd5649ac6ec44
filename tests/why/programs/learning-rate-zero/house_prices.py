# learning-rate-zero | lr/learning rate, zero/0, warmup/schedul/lambda
# evidence: learning rates used: [0.0], weights moved: False
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_houses(n=160):
    area = torch.rand(n, 1) * 2 - 1
    rooms = torch.randint(1, 6, (n, 1)).float() / 3 - 1
    age = torch.rand(n, 1) * 2 - 1
    noise = torch.randn(n, 1) * 0.05
    price = 1.5 * area + 0.4 * rooms - 0.6 * age + 0.3 * area * rooms + noise
    return torch.cat([area, rooms, age], dim=1), price


class PriceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def build_scheduler(optimizer, warmup_steps):
    """Linear warmup to the base learning rate, constant afterwards."""

    def factor(step):
        return min(1.0, (step + 1) // warmup_steps)  #C

    return torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=factor)  #C


def fit(model, loader, epochs=5, lr=5e-3, warmup_steps=60):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-2)
    scheduler = build_scheduler(optimizer, warmup_steps)
    loss_fn = nn.MSELoss()
    used = set()
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            used.add(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
            running += loss.item()
        print(f"epoch {epoch + 1}/{epochs} mse {running / len(loader):.4f}")
    return sorted(used)


def main():
    torch.manual_seed(0)
    x, y = make_houses()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = PriceModel()
    before = [p.detach().clone() for p in model.parameters()]
    used = fit(model, loader)
    moved = any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
    print(f"learning rates used: {used[:3]}, weights moved: {moved}")


if __name__ == "__main__":
    main()
