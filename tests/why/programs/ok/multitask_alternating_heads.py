# ok
# evidence: each task trained: True, every task improved: True
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MultiTask(nn.Module):
    def __init__(self, d=8, h=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.heads = nn.ModuleDict({"price": nn.Linear(h, 1), "kind": nn.Linear(h, 3), "fraud": nn.Linear(h, 1)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


LOSSES = {
    "price": lambda out, y: F.mse_loss(out.squeeze(1), y),
    "kind": F.cross_entropy,
    "fraud": lambda out, y: F.binary_cross_entropy_with_logits(out.squeeze(1), y),
}


def loaders():
    x = torch.randn(3, 96, 8)
    labels = {"price": x[0, :, 0] - x[0, :, 1], "kind": x[1, :, 2:5].argmax(1), "fraud": (x[2, :, 5] > 0.3).float()}
    return {t: DataLoader(TensorDataset(x[i], labels[t]), batch_size=24, shuffle=True)
            for i, t in enumerate(labels)}


def endless(loader):
    while True:
        yield from loader


@torch.no_grad()
def evaluate(model, sets):
    result = {}
    for task, loader in sets.items():
        result[task] = sum(LOSSES[task](model(x, task), y).item() for x, y in loader) / len(loader)
    return result


def main():
    torch.manual_seed(52)
    sets = loaders()
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    start = evaluate(model, sets)
    streams = {t: endless(loader) for t, loader in sets.items()}
    counts = dict.fromkeys(sets, 0)
    # round robin: a batch belongs to one task, so two heads rest in every step
    for step in range(60):
        task = list(sets)[step % 3]
        x, y = next(streams[task])
        optimizer.zero_grad(set_to_none=True)
        loss = LOSSES[task](model(x, task), y)
        loss.backward()
        optimizer.step()
        counts[task] += 1
        if step % 15 < 3:
            print(f"step {step} {task}: {loss.item():.4f}")
    end = evaluate(model, sets)
    print(f"each task trained: {min(counts.values()) == 20}, every task improved: {all(end[t] < start[t] for t in end)}")


if __name__ == "__main__":
    main()
