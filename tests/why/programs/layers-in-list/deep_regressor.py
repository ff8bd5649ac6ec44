# layers-in-list, not-in-optimizer | list/registered/register/modulelist
# evidence: hidden layers changed by training: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class DeepRegressor(nn.Module):
    def __init__(self, n_in, width=16, depth=3):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = []  #C
        for _ in range(depth):
            self.hidden.append(nn.Linear(width, width))  #C
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = F.silu(self.inp(x))
        for layer in self.hidden:
            x = F.silu(layer(x)) + x
        return self.out(x)


def sample(batch=32):
    x = torch.rand(batch, 4) * 2 - 1
    y = (3 * x[:, 0:1] * x[:, 1:2]).sin() + x[:, 2:3] ** 2
    return x, y


def main():
    torch.manual_seed(10)
    model = DeepRegressor(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  #C
    start = [layer.weight.detach().clone() for layer in model.hidden]
    for step in range(40):
        x, y = sample()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3d} mse {loss.item():.4f}")
    changed = any(not torch.equal(w, layer.weight) for w, layer in zip(start, model.hidden))
    print("hidden layers changed by training:", changed)


if __name__ == "__main__":
    main()
