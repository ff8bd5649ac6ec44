# label-dtype, class-never-seen | uint8/overflow/256/wrap
# evidence: largest class id in training: 255
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_PRODUCTS = 400


class ClickLog(Dataset):
    """user vector -> id of the product that was clicked; ids kept compact in memory."""

    def __init__(self, n=600):
        self.product = torch.arange(n) % NUM_PRODUCTS
        codes = torch.randn(NUM_PRODUCTS, 12)
        self.user = codes[self.product] + 0.1 * torch.randn(n, 12)
        self.labels = self.product.to(torch.uint8)  #C

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.user[i], self.labels[i].long()  #C


class Recommender(nn.Module):
    def __init__(self, dim=12, hidden=48):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(dim, hidden), nn.GELU())
        self.items = nn.Linear(hidden, NUM_PRODUCTS)

    def forward(self, user):
        return self.items(self.tower(user))


def main():
    torch.manual_seed(0)
    log = ClickLog()
    loader = DataLoader(log, batch_size=60, shuffle=True)
    model = Recommender()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    highest = 0
    for epoch in range(4):
        total = 0.0
        for user, clicked in loader:
            loss = F.cross_entropy(model(user), clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            highest = max(highest, clicked.max().item())
        print(f"epoch {epoch} loss {total / len(loader):.3f}")
    print("largest class id in training:", highest)


if __name__ == "__main__":
    main()
