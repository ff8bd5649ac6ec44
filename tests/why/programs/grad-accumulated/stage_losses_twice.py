# grad-accumulated
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F


class EarlyExitNet(nn.Module):
    """A classifier with an exit after every stage (deep supervision)."""

    def __init__(self, d_in=16, h=48, classes=5, depth=3):
        super().__init__()
        dims = [d_in] + [h] * depth
        self.stages = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))
        self.exits = nn.ModuleList(nn.Linear(h, classes) for _ in range(depth))

    def forward(self, x):
        outs = []
        for stage, exit_ in zip(self.stages, self.exits):
            x = torch.tanh(stage(x))
            outs.append(exit_(x))
        return outs


def grad_norm(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()


def train_step(model, opt, x, y, weights):
    opt.zero_grad()
    total = 0.0
    for w, logits in zip(weights, model(x)):
        loss = w * F.cross_entropy(logits, y)
        loss.backward(retain_graph=True)  #C
        total = total + loss
    total.backward()  #C
    norm = grad_norm(model)
    opt.step()
    return total.item(), norm


def main():
    torch.manual_seed(0)
    centers = torch.randn(5, 16)
    weights = (0.3, 0.3, 1.0)
    model = EarlyExitNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(150):
        y = torch.randint(0, 5, (64,))
        x = centers[y] + 0.9 * torch.randn(64, 16)
        loss, norm = train_step(model, opt, x, y, weights)
        if step % 30 == 0:
            print(f"step {step} loss {loss:.4f} grad norm {norm:.4f}")
    with torch.no_grad():
        y = torch.randint(0, 5, (500,))
        outs = model(centers[y] + 0.9 * torch.randn(500, 16))
    print("exit accuracy", [round((o.argmax(1) == y).float().mean().item(), 3) for o in outs])


if __name__ == "__main__":
    main()
print("evidence: done")
