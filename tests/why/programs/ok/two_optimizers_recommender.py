# ok
# evidence: both parts moved: True, loss went down: True
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WideAndDeep(nn.Module):
    def __init__(self, users=25, items=18, dim=6):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.deep = nn.Sequential(nn.Linear(2 * dim, 24), nn.ReLU(), nn.Linear(24, 1))
        self.wide = nn.Embedding(items, 1)

    def sparse_parameters(self):
        return [self.user.weight, self.item.weight, self.wide.weight]

    def dense_parameters(self):
        return list(self.deep.parameters())

    def forward(self, u, i):
        h = torch.cat([self.user(u), self.item(i)], dim=1)
        return (self.deep(h) + self.wide(i)).squeeze(1)


def clicks(n):
    taste, kind = torch.randn(25, 2), torch.randn(18, 2)
    u, i = torch.randint(0, 25, (n,)), torch.randint(0, 18, (n,))
    p = torch.sigmoid(2 * (taste[u] * kind[i]).sum(1) + 0.5 * kind[i, 0])
    return u, i, torch.bernoulli(p)


def main():
    torch.manual_seed(95)
    loader = DataLoader(TensorDataset(*clicks(400)), batch_size=50, shuffle=True)
    model = WideAndDeep()
    # embeddings and dense layers have optimizers of their own, with different rates
    opt_sparse = torch.optim.Adagrad(model.sparse_parameters(), lr=0.1)
    opt_dense = torch.optim.AdamW(model.dense_parameters(), lr=5e-3, weight_decay=1e-3)
    optimizers = (opt_sparse, opt_dense)
    criterion = nn.BCEWithLogitsLoss()
    a0, b0 = model.user.weight.detach().clone(), model.deep[0].weight.detach().clone()
    history = []
    for epoch in range(8):
        total = 0.0
        for u, i, click in loader:
            for o in optimizers:
                o.zero_grad()
            loss = criterion(model(u, i), click)
            loss.backward()
            for o in optimizers:
                o.step()
            total += loss.item()
        history.append(total / len(loader))
        print(f"epoch {epoch} log loss {history[-1]:.4f}")
    moved = not torch.equal(a0, model.user.weight.detach()) and not torch.equal(b0, model.deep[0].weight.detach())
    print(f"both parts moved: {moved}, loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
