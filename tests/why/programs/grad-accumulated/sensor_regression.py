# grad-accumulated | zero_grad/accumulat/cleared
# evidence: validation error below the variance of the target: False
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class SensorModel(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.hidden = nn.Linear(channels, 20)
        self.out = nn.Linear(20, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def readings(n):
    x = torch.randn(n, 6)
    y = x[:, :1] - 0.5 * x[:, 1:2] + 0.3 * torch.sin(2 * x[:, 2:3])
    return x, y


def train_one_epoch(model, loader, loss_fn, optimizer):
    running = 0.0
    for x, y in loader:  #C
        loss = loss_fn(model(x), y)
        loss.backward()  #C
        optimizer.step()  #C
        running += loss.item()
    return running / len(loader)


def main():
    torch.manual_seed(4)
    x, y = readings(256)
    loader = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=16, shuffle=True)
    model = SensorModel()
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        print(f"epoch {epoch + 1} train mse {train_one_epoch(model, loader, loss_fn, optimizer):.4f}")
    with torch.no_grad():
        err = loss_fn(model(x[192:]), y[192:]).item()
    print(f"validation error below the variance of the target: {err < y.var().item()}")


if __name__ == "__main__":
    main()
