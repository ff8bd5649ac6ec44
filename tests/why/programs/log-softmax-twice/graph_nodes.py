# log-softmax-twice, wrong-loss-input, zero-local-derivative, loss-constant | log
# evidence: weights changed by training: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class GCNLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)

    def forward(self, x, adj):
        return adj @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, n_in=8, hidden=12, classes=3):
        super().__init__()
        self.gc1 = GCNLayer(n_in, hidden)
        self.gc2 = GCNLayer(hidden, classes)

    def forward(self, x, adj):
        h = F.relu(self.gc1(x, adj))
        return F.log_softmax(self.gc2(h, adj), dim=1)  #C


def community_graph(n=45, classes=3):
    y = torch.arange(n) % classes
    same = y.unsqueeze(0) == y.unsqueeze(1)
    adj = (torch.rand(n, n) < torch.where(same, 0.3, 0.03)).float()
    adj = ((adj + adj.t() + torch.eye(n)) > 0).float()
    adj = adj / adj.sum(1, keepdim=True)
    x = torch.randn(n, 8)
    x[:, :3] += F.one_hot(y, classes).float()
    return x, adj, y


def masked_nll(out, labels, mask, eps=1e-8):
    picked = out[mask].gather(1, labels[mask].unsqueeze(1))
    return -torch.log(picked.clamp(min=eps)).mean()  #C


def main():
    torch.manual_seed(48)
    x, adj, y = community_graph()
    train_mask = torch.rand(len(y)) < 0.6
    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    for epoch in range(30):
        model.train()
        out = model(x, adj)
        loss = masked_nll(out, y, train_mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            acc = (out.argmax(1) == y)[~train_mask].float().mean().item()
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.2f}")
    changed = any(not torch.equal(a, b) for a, b in zip(start, model.parameters()))
    print("weights changed by training:", changed)


if __name__ == "__main__":
    main()
