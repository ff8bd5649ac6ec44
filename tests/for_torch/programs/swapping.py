"""Tensors whose contents are swapped: torch refuses those with weak references of the program, and not those of the recorder."""
import weakref

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step(dtype):
    optimizer.zero_grad()
    loss = net(torch.ones(4, 2, dtype=dtype)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item(), [p.dtype for p in net.parameters()], net[0].weight.grad.norm().item())


step(torch.float32)
kept = [id(p) for p in net.parameters()]
torch.__future__.set_swap_module_params_on_conversion(True)
net.double()
print([id(p) for p in net.parameters()] == kept)
step(torch.float64)
step(torch.float64)

a, b = torch.zeros(2, requires_grad=True), torch.ones(3, requires_grad=True)
torch.utils.swap_tensors(a, b)
b.sum().backward()
print(a, b, a.grad, b.grad)
held = weakref.ref(a)
for first, second in ((a, b), (b, a)):
    try:
        torch.utils.swap_tensors(first, second)
    except RuntimeError as error:
        print(error)
graph = (b * 2).sum()
del held
try:
    torch.utils.swap_tensors(a, b)
    graph.backward()
except RuntimeError as error:
    print(str(error)[:70])
