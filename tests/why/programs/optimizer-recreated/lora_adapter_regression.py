# optimizer-recreated | optimizer, momentum/state/recreated/new/again/each
# evidence: different optimizer objects used in 10 epochs: 10
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LoRALinear(nn.Module):
    """A frozen linear layer with a trainable low-rank correction."""

    def __init__(self, base, rank=2, alpha=4.0):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.t() @ self.up.t())


class Adapted(nn.Module):
    def __init__(self, n_in=8, hidden=24):
        super().__init__()
        self.first = LoRALinear(nn.Linear(n_in, hidden))
        self.second = LoRALinear(nn.Linear(hidden, 1))

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).squeeze(1)


def make_optimizer(model, lr):
    params = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.SGD(params, lr=lr, momentum=0.95)


def make_task(n=120):
    x = torch.randn(n, 8)
    return TensorDataset(x, torch.tanh(x[:, 0] - x[:, 1]) + 0.5 * x[:, 2])


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_task(), batch_size=40, shuffle=True)
    model = Adapted()
    base_lr, decay, epochs = 0.02, 0.95, 10
    optimizers = []
    for epoch in range(epochs):
        optimizer = make_optimizer(model, base_lr * decay ** epoch)  #C
        if not any(o is optimizer for o in optimizers):
            optimizers.append(optimizer)
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch}: lr {optimizer.param_groups[0]['lr']:.4f} mse {total / len(loader.dataset):.4f}")
    print(f"different optimizer objects used in {epochs} epochs: {len(optimizers)}")


if __name__ == "__main__":
    main()
