import torch
import torch.fx
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x):
        y = torch.relu(self.line(x))
        return y.detach() + x * 2


net = Net()
traced = torch.fx.symbolic_trace(net)
print(traced.code, [node.op for node in traced.graph.nodes])
print(traced(torch.ones(2, 3)))


@torch.jit.script
def looped(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x * 2 + i
    return x


w = torch.ones(2, requires_grad=True)
looped(w, 3).sum().backward()
print(w.grad, looped.code)
example = torch.jit.trace(net.line, torch.ones(1, 3))
print(example.code, example(torch.ones(1, 3)))
scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
scripted(torch.ones(1, 2)).sum().backward()
print([p.grad is not None for p in scripted.parameters()])
exported = torch.export.export(net, (torch.ones(2, 3),))
print(exported.graph_module.code)
