# ok
# evidence: inner rates moved: True, query loss went down: True
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class MetaSGD(nn.Module):
    """Learns the initial weights and one inner learning rate per tensor."""

    def __init__(self, base, inner_lr=0.1):
        super().__init__()
        self.base = base
        self.rates = nn.ParameterDict(
            {n.replace(".", "_"): nn.Parameter(torch.tensor(inner_lr)) for n, _ in base.named_parameters()})

    def adapted(self, x, y):
        params = dict(self.base.named_parameters())
        loss = F.cross_entropy(functional_call(self.base, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        return {n: p - self.rates[n.replace(".", "_")] * g for (n, p), g in zip(params.items(), grads)}

    def query_loss(self, support, query):
        fast = self.adapted(*support)
        xq, yq = query
        logits = functional_call(self.base, fast, (xq,))
        return F.cross_entropy(logits, yq), logits


def episode(ways=3, shots=5, queries=5, d=6):
    centers = torch.randn(ways, d)
    centers = centers + 1.5 * F.one_hot(torch.arange(ways), d).float()

    def draw(k):
        y = torch.arange(ways).repeat_interleave(k)
        return centers[y] + 0.3 * torch.randn(len(y), d), y
    return draw(shots), draw(queries)


def main():
    torch.manual_seed(20)
    learner = MetaSGD(nn.Sequential(nn.Linear(6, 20), nn.SiLU(), nn.Linear(20, 3)))
    opt = torch.optim.Adam(learner.parameters(), lr=1e-2)
    losses = []
    for it in range(50):
        batch = [learner.query_loss(*episode())[0] for _ in range(3)]
        loss = torch.stack(batch).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if it % 10 == 9:
            print(f"iter {it + 1} query {losses[-1]:.4f}")
    moved = all(abs(r.item() - 0.1) > 1e-6 for r in learner.rates.values())
    print(f"inner rates moved: {moved}, query loss went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
