"""torch.compile with backends that need no compiler. How often they compile is not the same: what is recorded runs uncompiled."""
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(6, 4)
for backend in ("eager", "aot_eager"):
    compiled = torch.compile(net, backend=backend)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        loss = compiled(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(backend, step, loss.item(), net[0].weight.grad.norm().item())


def backend(graph, inputs):
    return graph.forward


@torch.compile(backend=backend)
def f(x, y):
    return (x * y).sin() + (x @ y).sum()


for size in (3, 3, 5):
    a = torch.ones(size, size, requires_grad=True)
    f(a, a).sum().backward()
    print(size, a.grad.sum().item())
