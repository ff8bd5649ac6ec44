# non-differentiable-op, unused-in-loss | topk/index/indices/integer
# evidence: router moved: False
# parameters: router.weight, router.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(50)


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class MoELayer(nn.Module):
    def __init__(self, dim=8, n_experts=4, k=2):
        super().__init__()
        self.k = k
        self.router = nn.Linear(dim, n_experts)
        self.experts = nn.ModuleList([Expert(dim, 16) for _ in range(n_experts)])
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        probs = torch.softmax(self.router(x), dim=-1)
        chosen = probs.topk(self.k, dim=-1).indices  #C
        mixed = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            used = (chosen == e).any(dim=-1)  #C
            if used.any():
                y = expert(x[used]) / self.k  #C
                mixed = mixed.index_add(0, used.nonzero().squeeze(1), y)
        return self.out(x + mixed).squeeze(-1)


def piecewise(n=384):
    x = torch.randn(n, 8)
    y = torch.where(x[:, 0] > 0, x[:, 1] * 2.0, torch.sin(3 * x[:, 2]))
    return TensorDataset(x, y)


class Experiment:
    def __init__(self):
        self.model = MoELayer()
        self.loader = DataLoader(piecewise(), batch_size=64, shuffle=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.start = self.model.router.weight.detach().clone()

    def epoch(self):
        total = 0.0
        for x, y in self.loader:
            loss = F.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)


def main():
    exp = Experiment()
    for epoch in range(6):
        print(f"epoch {epoch} mse {exp.epoch():.4f}")
    print("router moved:", not torch.equal(exp.start, exp.model.router.weight))


if __name__ == "__main__":
    main()
