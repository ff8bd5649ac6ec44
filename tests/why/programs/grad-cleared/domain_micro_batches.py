# grad-cleared | zero_grad/cleared/zeroed/erased
# evidence: domain vectors that moved: 1 of 4
# parameters: domain.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

DOMAINS = 4


class DomainModel(nn.Module):
    def __init__(self, n_in=5, dim=6):
        super().__init__()
        self.domain = nn.Embedding(DOMAINS, dim)
        self.net = nn.Sequential(nn.Linear(n_in + dim, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, x, d):
        return self.net(torch.cat([x, self.domain(d)], dim=1)).squeeze(-1)


class DomainStream:
    """Cycles through the domains, one micro-batch each."""

    def __init__(self, n_batches, size=12):
        self.n_batches, self.size = n_batches, size
        self.offsets = torch.tensor([-2.0, -1.0, 1.0, 2.0])

    def __iter__(self):
        for i in range(self.n_batches):
            d = torch.full((self.size,), i % DOMAINS)
            x = torch.randn(self.size, 5)
            yield x, d, x[:, 0] + self.offsets[d]


def train(model, stream, accum=DOMAINS, lr=0.05):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    window = 0.0
    for i, (x, d, y) in enumerate(stream):
        optimizer.zero_grad()  #C
        loss = F.mse_loss(model(x, d), y) / accum
        loss.backward()
        window += loss.item()
        if (i + 1) % accum == 0:
            optimizer.step()  #C
            if (i + 1) % (5 * accum) == 0:
                print(f"update {(i + 1) // accum} loss {window:.4f}")
            window = 0.0


def main():
    torch.manual_seed(22)
    model = DomainModel()
    before = model.domain.weight.detach().clone()
    train(model, DomainStream(80))
    moved = int((before != model.domain.weight).any(dim=1).sum())
    print(f"domain vectors that moved: {moved} of {DOMAINS}")


if __name__ == "__main__":
    main()
