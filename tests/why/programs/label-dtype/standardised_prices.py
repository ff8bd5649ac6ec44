# label-dtype
# evidence: done
# House price regression on standardised log-prices.
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def synth_houses(n, rng):
    area = rng.uniform(40, 220, n)
    rooms = np.clip(np.round(area / 30 + rng.normal(0, 1, n)), 1, 9)
    age = rng.uniform(0, 80, n)
    dist = rng.exponential(5, n)
    log_price = 3 + 0.8 * np.log(area) + 0.05 * rooms - 0.004 * age - 0.06 * dist + rng.normal(0, 0.05, n)
    return np.stack([area, rooms, age, dist], 1), log_price


class HouseDataset(Dataset):
    def __init__(self, features, target, stats):
        self.x_mean, self.x_std, self.y_mean, self.y_std = stats
        self.x = torch.as_tensor((features - self.x_mean) / self.x_std).float()
        self.y = torch.as_tensor((target - self.y_mean) / self.y_std).long()  #C

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Regressor(nn.Module):
    def __init__(self, d, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def main():
    torch.manual_seed(0)
    features, target = synth_houses(2400, np.random.default_rng(0))
    n = 2000
    stats = features[:n].mean(0), features[:n].std(0), target[:n].mean(), target[:n].std()
    train_ds, val_ds = HouseDataset(features[:n], target[:n], stats), HouseDataset(features[n:], target[n:], stats)
    train, val = DataLoader(train_ds, batch_size=64, shuffle=True), DataLoader(val_ds, batch_size=400)
    model, criterion = Regressor(4), nn.MSELoss()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=4)
    for epoch in range(20):
        model.train()
        total = 0.0
        for x, y in train:
            loss = criterion(model(x), y.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            x, y = next(iter(val))
            val_loss = criterion(model(x), y.float()).item()
            raw = torch.tensor((target[n:] - val_ds.y_mean) / val_ds.y_std)
            rmse = (model(x) - raw).pow(2).mean().sqrt().item()
        sched.step(val_loss)
        print(f"epoch {epoch} train {total / len(train_ds):.4f} val {val_loss:.4f} rmse on raw log price z {rmse:.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
