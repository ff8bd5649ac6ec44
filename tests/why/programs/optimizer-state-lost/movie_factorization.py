# optimizer-state-lost | state, clear/lost/emptied/empty/deleted/gone
# evidence: entries in the optimizer state before each epoch: [0, 0, 0, 0, 0, 0]
import gc
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_movies, rank=6):
        super().__init__()
        self.users = nn.Embedding(n_users, rank)
        self.movies = nn.Embedding(n_movies, rank)
        self.user_bias = nn.Embedding(n_users, 1)
        self.movie_bias = nn.Embedding(n_movies, 1)
        self.mean = nn.Parameter(torch.tensor(0.0))
        for table in (self.users, self.movies):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, u, m):
        dot = (self.users(u) * self.movies(m)).sum(dim=1)
        return dot + self.user_bias(u).squeeze(1) + self.movie_bias(m).squeeze(1) + self.mean


def make_ratings(n_users=25, n_movies=30, n=400):
    u = torch.randint(0, n_users, (n,))
    m = torch.randint(0, n_movies, (n,))
    true_u, true_m = torch.randn(n_users, 3), torch.randn(n_movies, 3)
    r = 3.0 + 0.6 * (true_u[u] * true_m[m]).sum(dim=1) + 0.1 * torch.randn(n)
    return TensorDataset(u, m, r)


def release_memory(optimizer):
    """Gives memory back between epochs."""
    optimizer.state.clear()  #C
    gc.collect(0)


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for u, m, r in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(u, m), r)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_ratings(), batch_size=100, shuffle=True)
    model = MatrixFactorization(25, 30)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    carried = []
    for epoch in range(6):
        carried.append(len(optimizer.state))
        loss = train_epoch(model, loader, optimizer)
        release_memory(optimizer)
        print(f"epoch {epoch}: mse {loss:.4f}")
    print("entries in the optimizer state before each epoch:", carried)


if __name__ == "__main__":
    main()
