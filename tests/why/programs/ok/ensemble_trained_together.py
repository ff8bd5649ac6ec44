# ok
# evidence: members differ: True, ensemble beats its mean member: True, loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Ensemble(nn.Module):
    def __init__(self, n, make):
        super().__init__()
        self.members = nn.ModuleList([make() for _ in range(n)])

    def forward(self, x):
        return torch.stack([m(x) for m in self.members])


def member():
    return nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 1))


def bootstrap_weights(n_samples, n_members):
    """Each member sees its own resample: weights of zero are samples that it does not get."""
    counts = torch.zeros(n_members, n_samples)
    for m in range(n_members):
        counts[m] = torch.bincount(torch.randint(0, n_samples, (n_samples,)), minlength=n_samples).float()
    return counts


def main():
    torch.manual_seed(79)
    x = torch.rand(120, 3) * 2 - 1
    y = torch.sin(3 * x[:, :1]) + x[:, 1:2] ** 2 + 0.2 * torch.randn(120, 1)
    w = bootstrap_weights(120, 4)
    loader = DataLoader(TensorDataset(x, y, torch.arange(120)), batch_size=30, shuffle=True)
    model = Ensemble(4, member)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for epoch in range(15):
        total = 0.0
        for xb, yb, idx in loader:
            err = (model(xb) - yb).squeeze(-1).pow(2)
            loss = (w[:, idx] * err).mean(1).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        history.append(total / len(loader))
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1} loss {history[-1]:.4f}")
    with torch.no_grad():
        xt = torch.rand(200, 3) * 2 - 1
        yt = torch.sin(3 * xt[:, :1]) + xt[:, 1:2] ** 2
        out = model(xt)
        single = (out - yt).pow(2).mean().item()
        joint = (out.mean(0) - yt).pow(2).mean().item()
    differ = not torch.equal(model.members[0][0].weight.detach(), model.members[1][0].weight.detach())
    print(f"members differ: {differ}, ensemble beats its mean member: {joint < single}, "
          f"loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
