# class-never-seen | class/label, never/missing/absent/not seen/no sample/only
# evidence: classes used in training: [1, 2]
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

UNLABELLED = -1


class DefectNet(nn.Module):
    def __init__(self, n_in=8, n_classes=3):
        super().__init__()
        self.l1 = nn.Linear(n_in, 32)
        self.l2 = nn.Linear(32, n_classes)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.l2(self.drop(torch.tanh(self.l1(x))))


def make_parts(n, labelled=0.6):
    """0: fine, 1: scratched, 2: bent; only some of the parts were inspected."""
    kind = torch.randint(0, 3, (n,))
    centers = torch.zeros(3, 8)
    centers[1, :3] = 1.5
    centers[2, 3:6] = -1.5
    x = centers[kind] + 0.6 * torch.randn(n, 8)
    label = torch.where(torch.rand(n) < labelled, kind, torch.full_like(kind, UNLABELLED))
    return x, label, kind


def inspected(x, label):
    """Keeps the parts that carry a label."""
    chosen = torch.nonzero(label > 0).flatten()  #C
    return TensorDataset(x[chosen], label[chosen])


def train(model, dataset, epochs=10, lr=1e-2):
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        if epoch % 3 == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    x, label, _ = make_parts(240)
    dataset = inspected(x, label)
    model = DefectNet()
    train(model, dataset)
    model.eval()
    vx, _, kind = make_parts(90)
    with torch.no_grad():
        pred = model(vx).argmax(dim=1)
    print(f"accuracy on new parts {(pred == kind).float().mean().item():.2f}")
    used = dataset.tensors[1].unique().tolist()
    print("classes used in training:", used)


if __name__ == "__main__":
    main()
