# ok
# evidence: activations recorded: 3, gradient norms recorded: True, loss went down: True
import torch
from torch import nn


class Monitor:
    """Forward and backward hooks that look at values and change nothing."""

    def __init__(self, model):
        self.activation, self.norms, self.handles = {}, [], []
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                self.handles.append(module.register_forward_hook(self.on_forward(name)))
        for p in model.parameters():
            self.handles.append(p.register_hook(self.on_gradient))

    def on_forward(self, name):
        def hook(module, inputs, output):
            self.activation[name] = output.detach().abs().mean().item()
        return hook

    def on_gradient(self, g):
        self.norms.append(g.norm().item())

    def close(self):
        for h in self.handles:
            h.remove()


def main():
    torch.manual_seed(76)
    model = nn.Sequential(nn.Linear(5, 24), nn.Softplus(), nn.Linear(24, 24), nn.Softplus(), nn.Linear(24, 1))
    monitor = Monitor(model)
    opt = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    losses = []
    for step in range(50):
        x = torch.rand(40, 5)
        y = (x * x).sum(1, keepdim=True)
        loss = nn.functional.huber_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} loss {losses[-1]:.4f} largest gradient norm {max(monitor.norms[-6:]):.3f}")
    monitor.close()
    print(f"activations recorded: {len(monitor.activation)}, gradient norms recorded: {len(monitor.norms) == 300}, "
          f"loss went down: {sum(losses[-6:]) < sum(losses[:6])}")


if __name__ == "__main__":
    main()
