# ok
# evidence: test nodes never in the loss: True, test accuracy above 0.7: True
import torch
import torch.nn.functional as F
from torch import nn


class GCNLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def forward(self, adj, x):
        return adj @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.g1, self.g2 = GCNLayer(d, h), GCNLayer(h, c)
        self.drop = nn.Dropout(0.3)

    def forward(self, adj, x):
        return self.g2(adj, self.drop(F.relu(self.g1(adj, x))))


def community_graph(n=60, groups=3):
    y = torch.arange(n) % groups
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(0.3), torch.tensor(0.03))
    a = torch.triu((torch.rand(n, n) < prob).float(), diagonal=1)
    a = a + a.t() + torch.eye(n)
    d = a.sum(1).rsqrt()
    x = F.one_hot(y, groups).float() + 1.2 * torch.randn(n, groups)
    return d[:, None] * a * d[None, :], torch.cat([x, torch.randn(n, 5)], 1), y


def main():
    torch.manual_seed(24)
    adj, x, y = community_graph()
    perm = torch.randperm(60)
    train_idx, test_idx = perm[:30], perm[30:]
    model = GCN(8, 16, 3)
    opt = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=5e-4)
    # transductive learning: the whole graph is the batch in every step
    for epoch in range(50):
        model.train()
        out = model(adj, x)
        loss = F.cross_entropy(out[train_idx], y[train_idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 10 == 9:
            model.eval()
            with torch.no_grad():
                acc = (model(adj, x).argmax(1) == y)[test_idx].float().mean().item()
            print(f"epoch {epoch + 1} loss {loss.item():.3f} test acc {acc:.3f}")
    disjoint = not set(train_idx.tolist()) & set(test_idx.tolist())
    print(f"test nodes never in the loss: {disjoint}, test accuracy above 0.7: {acc > 0.7}")


if __name__ == "__main__":
    main()
