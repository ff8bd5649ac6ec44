# vanishing-gradient | gradient
# evidence: first layer changed by more than 1e-6: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(6)


class DeepMLP(nn.Module):
    def __init__(self, n_in, width=32, depth=12, n_classes=2):
        super().__init__()
        layers = [nn.Linear(n_in, width), nn.Sigmoid()]  #C
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Sigmoid()]  #C
        self.trunk = nn.Sequential(*layers)
        self.head = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.head(self.trunk(x))  #C


def credit_data(n=400):
    x = torch.randn(n, 8)
    y = ((x[:, 0] * x[:, 1] + x[:, 2]) > 0).long()
    return TensorDataset(x, y)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return hits / len(loader.dataset)


def main():
    train_set, val_set = random_split(credit_data(), [320, 80])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=80)
    model = DeepMLP(8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    start = model.trunk[0].weight.detach().clone()
    for epoch in range(5):
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} val acc {accuracy(model, val_loader):.3f}")
    change = (model.trunk[0].weight.detach() - start).abs().max().item()
    print("first layer changed by more than 1e-6:", change > 1e-6)


if __name__ == "__main__":
    main()
