# scaler-misuse, term-without-influence, update-too-small | scale
# evidence: auxiliary head learned: False
# parameters: aux.weight, aux.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast


class DualHead(nn.Module):
    """Depth as the main task, surface type as an auxiliary one."""

    def __init__(self, n_in=8, dim=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU())
        self.depth = nn.Linear(dim, 1)
        self.aux = nn.Linear(dim, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(-1), self.aux(h)


def scene(n=32):
    x = torch.randn(n, 8)
    depth = x[:, 0] + 0.5 * x[:, 1]
    surface = x[:, 2:5].argmax(1)
    return x, depth, surface


def train(model, steps=60):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cpu", init_scale=2.0 ** 14)
    for step in range(steps):
        x, depth, surface = scene()
        optimizer.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16):
            d, s = model(x)
        main_loss = F.mse_loss(d.float(), depth)
        aux_loss = F.cross_entropy(s.float(), surface)
        scaler.scale(main_loss).backward(retain_graph=True)  #C
        aux_loss.backward()  #C
        scaler.step(optimizer)
        scaler.update()
        if step % 15 == 0:
            print(f"step {step} depth {main_loss.item():.4f} surface {aux_loss.item():.4f}")


def main():
    torch.manual_seed(36)
    model = DualHead()
    before = model.aux.weight.detach().clone()
    train(model)
    change = (model.aux.weight.detach() - before).abs().max().item()
    print("auxiliary head learned:", change > 0.01)


if __name__ == "__main__":
    main()
