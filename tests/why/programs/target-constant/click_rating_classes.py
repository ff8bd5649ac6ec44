# target-constant | target/label/class, constant/same/one class/single/all 0/only class
# evidence: classes among the training labels: [0]
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class RatingNet(nn.Module):
    """Predicts how much a visitor likes an item: low, medium, high."""

    def __init__(self, n_users=20, n_items=30, dim=8, n_levels=3):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.GELU(), nn.Linear(32, n_levels))

    def forward(self, users, items):
        return self.mlp(torch.cat([self.user(users), self.item(items)], dim=1))


def load_ratings(n=300):
    taste = torch.randn(20, 4)
    kind = torch.randn(30, 4)
    users = torch.randint(0, 20, (n,))
    items = torch.randint(0, 30, (n,))
    rating = torch.sigmoid((taste[users] * kind[items]).sum(dim=1))
    return users, items, rating


def to_levels(rating, n_levels=3):
    return rating.long().clamp(max=n_levels - 1)  #C


def run_epoch(model, loader, optimizer=None):
    criterion = nn.CrossEntropyLoss()
    model.train(optimizer is not None)
    total, hits, count = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for users, items, level in loader:
            logits = model(users, items)
            loss = criterion(logits, level)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(level)
            hits += (logits.argmax(1) == level).sum().item()
            count += len(level)
    return total / count, hits / count


def main():
    torch.manual_seed(0)
    users, items, rating = load_ratings()
    levels = to_levels(rating)
    data = TensorDataset(users, items, levels)
    train_set = torch.utils.data.Subset(data, range(240))
    val_set = torch.utils.data.Subset(data, range(240, 300))
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=60)
    model = RatingNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        loss, acc = run_epoch(model, train_loader, optimizer)
        vloss, vacc = run_epoch(model, val_loader)
        print(f"epoch {epoch}: train {loss:.3f}/{acc:.2f} val {vloss:.3f}/{vacc:.2f}")
    print("classes among the training labels:", levels[:240].unique().tolist())


if __name__ == "__main__":
    main()
