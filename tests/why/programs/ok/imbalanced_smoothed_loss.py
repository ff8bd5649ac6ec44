# ok
# evidence: all classes predicted: True, balanced accuracy improved: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def imbalanced(counts, centers):
    y = torch.cat([torch.full((c,), i) for i, c in enumerate(counts)])
    x = centers[y] + 0.9 * torch.randn(len(y), centers.shape[1])
    return x, y


def class_weights(y, classes):
    freq = torch.bincount(y, minlength=classes).float()
    return freq.sum() / (classes * freq)


@torch.no_grad()
def balanced_accuracy(model, x, y, classes):
    pred = model(x).argmax(1)
    recalls = [(pred[y == c] == c).float().mean().item() for c in range(classes)]
    return sum(recalls) / classes, pred.unique().numel()


def main():
    torch.manual_seed(4)
    classes = 4
    centers = 1.4 * torch.randn(classes, 8)
    x, y = imbalanced([120, 60, 20, 10], centers)
    xt, yt = imbalanced([40, 40, 40, 40], centers)
    loader = DataLoader(TensorDataset(x, y), batch_size=42, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, classes))
    criterion = nn.CrossEntropyLoss(weight=class_weights(y, classes), label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    first, _ = balanced_accuracy(model, xt, yt, classes)
    for epoch in range(10):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
        score, seen = balanced_accuracy(model, xt, yt, classes)
        print(f"epoch {epoch} loss {loss.item():.3f} balanced accuracy {score:.3f}")
    print(f"all classes predicted: {seen == classes}, balanced accuracy improved: {score > first}")


if __name__ == "__main__":
    main()
