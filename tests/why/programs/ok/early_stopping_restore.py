# ok
# evidence: best weights in the model at the end: True, best not worse than first epoch: True
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.state, self.bad = patience, float("inf"), None, 0

    def update(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


@torch.no_grad()
def validation_loss(model, loader, criterion):
    model.eval()
    return sum(criterion(model(x), y).item() for x, y in loader) / len(loader)


def main():
    torch.manual_seed(18)
    # few noisy points and a wide net: it overfits after a while
    x = torch.randn(112, 6)
    y = (x[:, 0] + 0.6 * torch.randn(112) > 0).long()
    train = DataLoader(TensorDataset(x[:48], y[:48]), batch_size=16, shuffle=True)
    val = DataLoader(TensorDataset(x[48:], y[48:]), batch_size=64)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    stopper, values = EarlyStopping(patience=4), []
    for epoch in range(30):
        model.train()
        for xb, yb in train:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
        value = validation_loss(model, val, criterion)
        values.append(value)
        print(f"epoch {epoch} val {value:.4f}")
        if stopper.update(value, model):
            print(f"stopped after epoch {epoch}")
            break
    model.load_state_dict(stopper.state)
    final = validation_loss(model, val, criterion)
    print(f"best weights in the model at the end: {abs(final - min(values)) < 1e-6}, "
          f"best not worse than first epoch: {final <= values[0] + 1e-6}")


if __name__ == "__main__":
    main()
