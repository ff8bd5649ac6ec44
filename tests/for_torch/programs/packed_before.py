"""Saved tensors that hooks of the program have packed, in graphs that were made in rounds which are not recorded."""
import torch
from torch.autograd.graph import saved_tensors_hooks

torch.manual_seed(0)
calls = []


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
with torch.no_grad():
    net[0].bias.fill_(-10.0)  # no gradient comes through the ReLU
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = None
for i in range(60):
    optimizer.zero_grad()
    with saved_tensors_hooks(lambda t: (calls.append("pack"), t)[1], lambda t: (calls.append("unpack"), t)[1]):
        out = Square.apply(net(torch.ones(4, 2)))
    if i == 40:
        kept = out  # made in a round that is not recorded, used later
    elif i != 41:
        out.mean().backward()
    else:
        (kept.mean() + out.mean()).backward()
        print(net[0].weight.grad.abs().sum())
    optimizer.step()
    print(i, len(calls))
try:
    kept.mean().backward()
except RuntimeError as error:
    print(str(error)[:60], len(calls))
