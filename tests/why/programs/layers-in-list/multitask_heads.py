# layers-in-list, not-in-optimizer | dict/registered/register/moduledict
# evidence: heads changed by training: none
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

TASKS = {"age": 1, "income": 1, "segment": 3}


class MultiTask(nn.Module):
    def __init__(self, n_in=8, dim=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.heads = {name: nn.Linear(dim, n_out) for name, n_out in TASKS.items()}  #C

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def people(n=160):
    x = torch.randn(n, 8)
    age = x[:, :1] + 0.5 * x[:, 1:2]
    income = age * x[:, 2:3]
    segment = x[:, 3:6].argmax(1)
    return TensorDataset(x, age, income, segment)


def multitask_loss(out, age, income, segment):
    return {
        "age": F.mse_loss(out["age"], age),
        "income": F.mse_loss(out["income"], income),
        "segment": F.cross_entropy(out["segment"], segment),
    }


def main():
    torch.manual_seed(64)
    loader = DataLoader(people(), batch_size=20, shuffle=True)
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  #C
    start = {k: head.weight.detach().clone() for k, head in model.heads.items()}
    for epoch in range(4):
        sums = dict.fromkeys(TASKS, 0.0)
        for x, *targets in loader:
            losses = multitask_loss(model(x), *targets)
            optimizer.zero_grad()
            sum(losses.values()).backward()
            optimizer.step()
            for k, v in losses.items():
                sums[k] += v.item()
        print(f"epoch {epoch} " + " ".join(f"{k} {v / len(loader):.3f}" for k, v in sums.items()))
    changed = [k for k, head in model.heads.items() if not torch.equal(start[k], head.weight)]
    print("heads changed by training:", ", ".join(changed) or "none")


if __name__ == "__main__":
    main()
