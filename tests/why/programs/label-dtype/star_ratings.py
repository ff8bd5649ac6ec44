# label-dtype, class-never-seen | bool
# evidence: distinct labels in training: 2
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

NUM_STARS = 5


class RatingModel(nn.Module):
    """Predicts 0-4 stars from a user and an item id."""

    def __init__(self, users=20, items=30, dim=8):
        super().__init__()
        self.users = nn.Embedding(users, dim)
        self.items = nn.Embedding(items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, NUM_STARS))

    def forward(self, user, item):
        return self.mlp(torch.cat([self.users(user), self.items(item)], dim=-1))


def load_ratings(n=300):
    user = torch.randint(0, 20, (n,))
    item = torch.randint(0, 30, (n,))
    stars = (user + item) // 10
    table = torch.stack([user, item, stars], dim=1)
    return table


def to_dataset(table):
    user, item = table[:, 0], table[:, 1]
    stars = table[:, 2].to(torch.bool)  #C
    return TensorDataset(user, item, stars)


def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    seen = set()
    for epoch in range(epochs):
        total = 0.0
        for user, item, stars in loader:
            stars = stars.long()  #C
            loss = criterion(model(user, item), stars)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            seen.update(stars.tolist())
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    return seen


def main():
    torch.manual_seed(51)
    loader = DataLoader(to_dataset(load_ratings()), batch_size=30, shuffle=True)
    seen = train(RatingModel(), loader, epochs=4)
    print("distinct labels in training:", len(seen))


if __name__ == "__main__":
    main()
