# step-missing | step
# evidence: embeddings changed: False
import torch
import torch.nn as nn


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, rank=4):
        super().__init__()
        self.user = nn.Embedding(n_users, rank)
        self.item = nn.Embedding(n_items, rank)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def ratings(n=400, n_users=15, n_items=20, rank=2):
    a, b = torch.randn(n_users, rank), torch.randn(n_items, rank)
    u = torch.randint(0, n_users, (n,))
    i = torch.randint(0, n_items, (n,))
    return u, i, (a[u] * b[i]).sum(-1)


def iterate_minibatches(*tensors, batch_size):
    order = torch.randperm(len(tensors[0]))
    for chunk in order.split(batch_size):
        yield tuple(t[chunk] for t in tensors)


def main():
    torch.manual_seed(71)
    u, i, r = ratings()
    model = MatrixFactorization(15, 20)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    start = model.user.weight.detach().clone(), model.item.weight.detach().clone()
    for epoch in range(4):
        total, count = 0.0, 0
        for bu, bi, br in iterate_minibatches(u, i, r, batch_size=50):
            optimizer.zero_grad()
            loss = criterion(model(bu, bi), br)
            loss.backward()  #C
            optimizer.step  #C
            total += loss.item() * len(br)
            count += len(br)
        print(f"epoch {epoch}: rmse {(total / count) ** 0.5:.4f}")
    same = torch.equal(start[0], model.user.weight) and torch.equal(start[1], model.item.weight)
    print("embeddings changed:", not same)


if __name__ == "__main__":
    main()
