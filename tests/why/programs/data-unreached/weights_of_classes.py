# data-unreached
# evidence: done
# Defect detection on imbalanced data with oversampling of rare classes.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class DefectDataset(Dataset):
    def __init__(self, n, proportions, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.multinomial(torch.tensor(proportions), n, replacement=True, generator=g)
        centers = torch.randn(len(proportions), 12, generator=torch.Generator().manual_seed(99))
        self.x = centers[self.labels] + 0.7 * torch.randn(n, 12, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.x[i], self.labels[i]


def balanced_loader(dataset, n_classes, batch_size):
    counts = torch.bincount(dataset.labels, minlength=n_classes).float()
    class_weights = 1.0 / counts  #C
    sampler = WeightedRandomSampler(class_weights, num_samples=len(dataset), replacement=True)  #C
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1))
        self.out = nn.Linear(32, classes)

    def forward(self, x):
        return self.out(self.body(x))


@torch.no_grad()
def balanced_accuracy(model, loader, n_classes):
    model.eval()
    hit, tot = torch.zeros(n_classes), torch.zeros(n_classes)
    for x, y in loader:
        ok = (model(x).argmax(1) == y).float()
        hit.index_add_(0, y, ok)
        tot.index_add_(0, y, torch.ones_like(ok))
    return (hit / tot).mean().item()


def main():
    torch.manual_seed(0)
    props = [0.85, 0.08, 0.05, 0.02]
    train = balanced_loader(DefectDataset(3000, props, 1), 4, 64)
    test = DataLoader(DefectDataset(2000, props, 2), batch_size=500)
    model = Net(4)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train):.4f} balanced acc {balanced_accuracy(model, test, 4):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
