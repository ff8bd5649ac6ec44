# frozen-decayed | stale/old/kept/remain/zero_grad/left/still, frozen/freeze/requires_grad
# evidence: base weights kept in the adapter phase: False
# parameters: base.weight, base.bias
import torch
import torch.nn as nn
import torch.nn.functional as F


class Adapter(nn.Module):
    def __init__(self, n_in, n_out, rank=2):
        super().__init__()
        self.a = nn.Linear(n_in, rank, bias=False)
        self.b = nn.Linear(rank, n_out, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.b(self.a(x))


class LoRALinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        self.adapter = Adapter(n_in, n_out)

    def forward(self, x):
        return self.base(x) + self.adapter(x)

    def freeze_base(self):
        for p in self.base.parameters():
            p.requires_grad = False  #C


class Domain:
    def __init__(self, n_in=6, n_out=3):
        self.w = torch.randn(n_in, n_out)

    def batch(self, n=24):
        x = torch.randn(n, 6)
        return x, x @ self.w


def pretrain(layer, optimizer, domain, steps):
    for step in range(steps):
        x, y = domain.batch()
        optimizer.zero_grad()
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.4f}")


def adapt(layer, optimizer, domain, steps):
    layer.freeze_base()
    for step in range(steps):
        x, y = domain.batch()
        layer.adapter.zero_grad()  #C
        loss = F.mse_loss(layer(x), y)
        loss.backward()
        optimizer.step()  #C
        if step % 10 == 0:
            print(f"adapter step {step} loss {loss.item():.4f}")


def main():
    torch.manual_seed(79)
    layer = LoRALinear(6, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    pretrain(layer, optimizer, Domain(), 12)
    kept = layer.base.weight.detach().clone()
    adapt(layer, optimizer, Domain(), 30)
    print("base weights kept in the adapter phase:", torch.equal(kept, layer.base.weight))


if __name__ == "__main__":
    main()
