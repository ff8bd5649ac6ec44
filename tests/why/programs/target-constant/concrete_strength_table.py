# target-constant | target/label, constant/same/equal
# evidence: distinct values of the regression target: 1
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

COLUMNS = ["cement", "water", "sand", "age", "strength", "lab_id"]


def read_table(n=180):
    """The table as it comes from the laboratory."""
    cement, water, sand = torch.rand(n), torch.rand(n), torch.rand(n)
    age = torch.rand(n)
    strength = 2.0 * cement - 1.5 * water + 0.8 * age * cement + 0.05 * torch.randn(n)
    lab = torch.full((n,), 3.0)
    return torch.stack([cement, water, sand, age, strength, lab], dim=1)


class ConcreteDataset(Dataset):
    def __init__(self, table, n_features=4):
        self.features = table[:, :n_features]
        self.target = table[:, -1]  #C

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return self.features[i], self.target[i]


class StrengthNet(nn.Module):
    def __init__(self, n_features=4, hidden=20):
        super().__init__()
        self.block = nn.Sequential(
            nn.Linear(n_features, hidden), nn.Softplus(),
            nn.Linear(hidden, hidden), nn.Softplus(),
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.block(x)).squeeze(-1)


def train_model(dataset, epochs=8):
    model = StrengthNet()
    loader = DataLoader(dataset, batch_size=30, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
    criterion = nn.HuberLoss()
    for epoch in range(epochs):
        total = 0.0
        for features, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(features), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: huber loss {total / len(loader):.4f}")
    return model


def main():
    torch.manual_seed(0)
    dataset = ConcreteDataset(read_table())
    model = train_model(dataset)
    with torch.no_grad():
        spread = model(dataset.features).std().item()
    print(f"spread of predictions {spread:.4f}")
    print("distinct values of the regression target:", len(dataset.target.unique()))


if __name__ == "__main__":
    main()
