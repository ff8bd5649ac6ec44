# labels-shuffled, class-never-seen | label/target, shuffl/permut/order/apart
# evidence: accuracy on the training set at chance level: True
import torch
from torch import nn


def make_strokes(n, n_classes=5, dim=12):
    prototypes = 2.0 * torch.randn(n_classes, dim)
    y = torch.randint(0, n_classes, (n,))
    return prototypes[y] + 0.5 * torch.randn(n, dim), y


class StrokeNet(nn.Module):
    def __init__(self, dim=12, n_classes=5):
        super().__init__()
        self.fc1 = nn.Linear(dim, 16)
        self.fc2 = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class BatchStream:
    """Gives the data in a new order in every epoch."""

    def __init__(self, x, y, batch_size):
        self.x, self.y = x, y
        self.batch_size = batch_size

    def shuffled(self, tensor):
        return tensor[torch.randperm(len(tensor))]

    def __iter__(self):
        x = self.shuffled(self.x)  #C
        y = self.shuffled(self.y)  #C
        for i in range(0, len(x), self.batch_size):
            yield x[i:i + self.batch_size], y[i:i + self.batch_size]

    def __len__(self):
        return -(-len(self.x) // self.batch_size)


def train_epoch(model, stream, optimizer, criterion):
    total = 0.0
    for x, y in stream:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(stream)


def main():
    torch.manual_seed(0)
    x, y = make_strokes(200)
    stream = BatchStream(x, y, batch_size=25)
    model = StrokeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        loss = train_epoch(model, stream, optimizer, criterion)
        print(f"epoch {epoch}: loss {loss:.4f}")
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    print("accuracy on the training set at chance level:", accuracy < 0.6)


if __name__ == "__main__":
    main()
