# class-never-seen | class/label, never/missing/absent/not seen/no sample/only
# evidence: classes in training: [0, 1], classes in test: [2]
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_flowers(per_class=40):
    """Four measurements each of three species."""
    centers = torch.tensor([[0.0, 0.5, -1.0, -1.0], [0.6, -0.8, 0.3, 0.2], [1.0, 0.0, 1.2, 1.3]])
    x, y = [], []
    for species, center in enumerate(centers):
        x.append(center + 0.4 * torch.randn(per_class, 4))
        y.append(torch.full((per_class,), species, dtype=torch.long))
    return torch.cat(x), torch.cat(y)


def split(x, y, train_fraction=2 / 3):
    cut = round(len(x) * train_fraction)
    train = TensorDataset(x[:cut], y[:cut])  #C
    test = TensorDataset(x[cut:], y[cut:])
    return train, test


class FlowerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


def train(model, dataset, epochs=12, lr=0.1):
    loader = DataLoader(dataset, batch_size=20, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
        scheduler.step()
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {running / len(dataset):.4f}")


def test_accuracy(model, dataset):
    model.eval()
    x, y = dataset.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x, y = load_flowers()
    train_set, test_set = split(x, y)
    model = FlowerNet()
    train(model, train_set)
    print(f"train accuracy {test_accuracy(model, train_set):.2f}, test accuracy {test_accuracy(model, test_set):.2f}")
    seen = train_set.tensors[1].unique().tolist()
    held = test_set.tensors[1].unique().tolist()
    print(f"classes in training: {seen}, classes in test: {held}")


if __name__ == "__main__":
    main()
