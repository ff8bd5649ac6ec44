# ok
# evidence: encoder still while frozen: True, encoder moved after: True, loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d=12, h=24, classes=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.head = nn.Linear(h, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


def make_data(n=192, d=12, classes=3):
    centers = torch.randn(classes, d) * 1.5
    y = torch.randint(0, classes, (n,))
    return centers[y] + torch.randn(n, d), y


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    total, count = 0.0, 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        count += len(xb)
    return total / count


def main():
    torch.manual_seed(0)
    x, y = make_data()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = Net()
    criterion = nn.CrossEntropyLoss()

    # the encoder stays frozen for the first epochs so that the new head can settle
    freeze_epochs, epochs = 3, 8
    for p in model.encoder.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)

    at_start = model.encoder[0].weight.detach().clone()
    still, history = None, []
    for epoch in range(epochs):
        if epoch == freeze_epochs:
            still = torch.equal(at_start, model.encoder[0].weight.detach())
            for p in model.encoder.parameters():
                p.requires_grad_(True)
            optimizer.add_param_group({"params": model.encoder.parameters(), "lr": 2e-3})
        loss = train_one_epoch(model, loader, optimizer, criterion)
        history.append(loss)
        print(f"epoch {epoch} loss {loss:.4f}")

    moved = not torch.equal(at_start, model.encoder[0].weight.detach())
    print(f"encoder still while frozen: {still}, encoder moved after: {moved}, "
          f"loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
