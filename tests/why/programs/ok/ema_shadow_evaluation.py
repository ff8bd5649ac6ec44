# ok
# evidence: shadow differs from live weights: True, live weights kept after evaluation: True, ema loss went down: True
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @torch.no_grad()
    def apply(self, model):
        self.backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        for n, p in model.named_parameters():
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def restore(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup[n])
        self.backup = {}


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    loss = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return loss


def main():
    torch.manual_seed(12)
    x = torch.randn(320, 6)
    y = torch.stack([x[:, :3].sum(1), x[:, 3] * x[:, 4]], 1)
    loader = DataLoader(TensorDataset(x[:256], y[:256]), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ema = EMA(model)
    first = evaluate(model, x[256:], y[256:])
    kept = True
    for epoch in range(5):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()
            ema.update(model)
        live = copy.deepcopy(model.state_dict())
        ema.apply(model)                      # evaluate with the averaged weights, then go on with the live ones
        last = evaluate(model, x[256:], y[256:])
        ema.restore(model)
        kept = kept and all(torch.equal(live[k], v) for k, v in model.state_dict().items())
        print(f"epoch {epoch} train {loss.item():.4f} ema val {last:.4f}")
    differs = any(not torch.equal(ema.shadow[n], p.detach()) for n, p in model.named_parameters())
    print(f"shadow differs from live weights: {differs}, live weights kept after evaluation: {kept}, "
          f"ema loss went down: {last < first}")


if __name__ == "__main__":
    main()
