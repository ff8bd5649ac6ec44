# accumulation-undivided, grad-accumulated | accum/chunk/micro, divid/averag/sum/scaled/times
# evidence: update over that of the whole batch: 4
import torch
import torch.nn as nn
import torch.nn.functional as F

LR = 0.01


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc = nn.Linear(6 * 16, 2)

    def forward(self, x):
        return self.fc(torch.tanh(self.conv(x)).flatten(1))


def shapes(n=32):
    x = 0.2 * torch.randn(n, 1, 6, 6)
    y = torch.randint(0, 2, (n,))
    for i, c in enumerate(y.tolist()):
        if c:
            x[i, 0, 2] += 1.0
        else:
            x[i, 0, :, 2] += 1.0
    return x, y


def train_step(model, optimizer, x, y, n_chunks=4):
    """One update; the batch does not fit, so it goes through in chunks."""
    optimizer.zero_grad()
    total = 0.0
    for xc, yc in zip(x.chunk(n_chunks), y.chunk(n_chunks)):
        loss = F.cross_entropy(model(xc), yc)  #C
        loss.backward()  #C
        total += loss.item()
    optimizer.step()  #C
    return total / n_chunks


def update_ratio(model, optimizer, x, y):
    whole = torch.autograd.grad(F.cross_entropy(model(x), y), model.fc.weight)[0]
    before = model.fc.weight.detach().clone()
    train_step(model, optimizer, x, y)
    moved = before - model.fc.weight.detach()
    return round((moved.norm() / (LR * whole.norm())).item())


def main():
    torch.manual_seed(90)
    model = ShapeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    for step in range(20):
        loss = train_step(model, optimizer, *shapes())
        if step % 5 == 0:
            print(f"step {step} loss {loss:.4f}")
    print("update over that of the whole batch:", update_ratio(model, optimizer, *shapes()))


if __name__ == "__main__":
    main()
