# ok
# evidence: some step left an expert idle: True, more than half of the experts were used: True, loss went down: True
import torch
import torch.nn as nn


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.net(x)


class Top1MoE(nn.Module):
    def __init__(self, dim, hidden, n_experts):
        super().__init__()
        self.router = nn.Linear(dim, n_experts)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))

    def forward(self, x):
        probs = self.router(x).softmax(-1)
        gate, choice = probs.max(dim=-1)
        out = torch.zeros_like(x)
        counts = []
        for i, expert in enumerate(self.experts):
            rows = (choice == i).nonzero(as_tuple=True)[0]
            counts.append(len(rows))
            if len(rows) == 0:
                continue
            out = out.index_add(0, rows, gate[rows, None] * expert(x[rows]))
        # load balancing: mean probability against share of tokens
        share = torch.tensor(counts, dtype=x.dtype) / x.shape[0]
        balance = len(self.experts) * (share * probs.mean(0)).sum()
        return x + out, balance, counts


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 12)
        self.moe = Top1MoE(12, 16, 8)
        self.out = nn.Linear(12, 2)

    def forward(self, x):
        h, balance, counts = self.moe(torch.tanh(self.inp(x)))
        return self.out(h), balance, counts


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    total_counts = [0] * 8
    idle, losses = False, []
    for step in range(60):
        x = torch.randn(10, 6)
        target = torch.stack([x[:, 0].abs(), x[:, 1] * (x[:, 2] > 0)], dim=1)
        pred, balance, counts = model(x)
        loss = nn.functional.mse_loss(pred, target) + 0.05 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        total_counts = [a + b for a, b in zip(total_counts, counts)]
        idle = idle or 0 in counts
        if step % 15 == 14:
            print(f"step {step + 1} loss {losses[-1]:.4f} counts {counts}")
    print(f"some step left an expert idle: {idle}, "
          f"more than half of the experts were used: {sum(c > 0 for c in total_counts) > 4}, "
          f"loss went down: {sum(losses[-15:]) < sum(losses[:15])}")


if __name__ == "__main__":
    main()
