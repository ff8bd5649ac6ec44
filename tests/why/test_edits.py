"""The edit of an answer mends the program: on whygrad nothing is puzzling any more, and on PyTorch the check holds.

The last line of each program is an expression that is true once it is mended.
"""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from whygrad.optim.optimizer import OPTIMIZERS
from whygrad.why.answers import Answer, Edit, Explanation
from whygrad.why.edits import FIXERS, edits_for
from whygrad.why.edits.apply import moved, with_lines
from whygrad.why.edits.changes import Changes
from whygrad.why.fix import EXPECTED
from whygrad.why.locations import SourceLocation
from whygrad.why.source_tree import SourceTree
from whygrad.why.watch import Watch

HEAD = "import torch\nimport torch.nn as nn\ntorch.manual_seed(0)\n"

# name -> (category, program)
PROGRAMS: dict[str, tuple[str, str]] = {
    "an output's gradient": ("non-leaf-no-retain", """
net = nn.Linear(3, 1)
out = net(torch.randn(4, 3))
out.mean().backward()
g = out.grad
g is not None
"""),
    "the gradient of something kept by a module": ("non-leaf-no-retain", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
    def forward(self, x):
        self.hidden = torch.tanh(self.fc(x))
        return self.hidden.sum()
net = Net()
net(torch.randn(4, 3)).backward()
g = net.hidden.grad
g is not None
"""),
    "gradients of a list of results": ("non-leaf-no-retain", """
w = torch.ones(3, requires_grad=True)
acts = []
for i in range(3):
    acts.append(w * i)
sum(a.sum() for a in acts).backward()
gs = [a.grad for a in acts]
all(g is not None for g in gs)
"""),
    "one of two results": ("non-leaf-no-retain", """
w = torch.ones(3, requires_grad=True)
a, b = w * 2, w * 3
(a * b).sum().backward()
g = b.grad
g is not None
"""),
    "a plain input": ("never-required-grad", """
net = nn.Linear(3, 1)
x = torch.randn(4, 3)
net(x).mean().backward()
g = x.grad
g is not None and x.is_leaf
"""),
    "an input of integers": ("never-required-grad", """
w = torch.ones(3, requires_grad=True)
x = torch.tensor([1, 2, 3])
(w * x).sum().backward()
g = x.grad
g is not None
"""),
    "an input made by a chain": ("never-required-grad", """
net = nn.Linear(1, 1)
x = torch.linspace(-1, 1, 8).unsqueeze(1)
net(x).mean().backward()
g = x.grad
g is not None and x.is_leaf
"""),
    "an argument": ("never-required-grad", """
net = nn.Linear(3, 1)
def saliency(image):
    "How much each pixel counts."
    net(image).sum().backward()
    return image.grad
g = saliency(torch.rand(2, 3))
g is not None
"""),
    "a batch of a loader": ("never-required-grad", """
net = nn.Linear(3, 1)
for x, y in [(torch.rand(2, 3), torch.rand(2, 1))]:
    ((net(x) - y) ** 2).sum().backward()
    g = x.grad
g is not None
"""),
    "two at once": ("never-required-grad", """
w, x = torch.ones(3, requires_grad=True), torch.rand(3)
(w * x).sum().backward()
g = x.grad
g is not None
"""),
    "frozen by hand": ("frozen", """
net = nn.Linear(3, 1)
net.weight.requires_grad_(False)
net(torch.randn(4, 3)).mean().backward()
g = net.weight.grad
g is not None
"""),
    "frozen in a loop": ("frozen", """
net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
for p in net.parameters():
    p.requires_grad = False
net[1].requires_grad = True
net(torch.randn(4, 3, requires_grad=True)).mean().backward()
g = net[1].weight.grad
g is not None
"""),
    "left over": ("stale-grad-after-freeze", """
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
w.requires_grad_(False)
g = w.grad
g is None
"""),
    "left over in a module": ("stale-grad-after-freeze", """
enc = nn.Linear(3, 3)
enc(torch.ones(1, 3)).sum().backward()
for p in enc.parameters():
    p.requires_grad = False
g = enc.weight.grad
g is None
"""),
    "a leaf replaced by its update": ("leaf-replaced", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(1, requires_grad=True)
for _ in range(2):
    (w * w + b).sum().backward()
    g = w.grad
    if g is None:
        break
    w = w - 0.1 * w.grad
    b = b - 0.1 * b.grad
g is not None and w.is_leaf and b.is_leaf
"""),
    "scaled at creation": ("leaf-replaced", """
w = torch.randn(3, requires_grad=True) * 0.01
(w * 2).sum().backward()
g = w.grad
g is not None and w.is_leaf
"""),
    "a parameter scaled at creation": ("leaf-replaced", """
w = nn.Parameter(torch.randn(3)) * 0.01
(w * 2).sum().backward()
g = w.grad
g is not None and w.is_leaf
"""),
    "reshaped under its own name": ("leaf-replaced", """
x = torch.randn(4, requires_grad=True)
x = x.view(2, 2)
(x * 2).sum().backward()
g = x.grad
g is not None
"""),
    "detached in a helper": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
kept = []
def encode(x):
    z = (x * w).detach()
    kept.append(z)
    return z
(encode(torch.ones(3)) + b).sum().backward()
g = w.grad
g is not None and not kept[0].requires_grad
"""),
    "taken by .data": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
h = (w * 2).data
(h * b).sum().backward()
g = w.grad
g is not None
"""),
    "detached in place": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
h = w * 2
h.detach_()
(h * b).sum().backward()
g = w.grad
g is not None
"""),
    "detached on a line of its own": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
h = (
    torch.tanh(w * 2)
    .detach()
)
(h * b).sum().backward()
g = w.grad
g is not None
"""),
    "numbers put into a new tensor": ("value-copied-out", """
w = torch.ones(3, requires_grad=True)
parts = [w[0] * 2, w[1] * 3]
loss = torch.tensor(parts, requires_grad=True).sum()
loss.backward()
g = w.grad
g is not None
"""),
    "numbers listed": ("value-copied-out", """
w = torch.ones(3, requires_grad=True)
loss = torch.tensor([w[0] * 2, (w[1] * 3)], requires_grad=True).sum()
loss.backward()
g = w.grad
g is not None
"""),
    "under no_grad": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
def features(x):
    with torch.no_grad():
        return x * w
(features(torch.ones(3)) * b).sum().backward()
g = w.grad
g is not None
"""),
    "a decorated forward": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
@torch.no_grad()
def features(x):
    return x * w
(features(torch.ones(3)) * b).sum().backward()
g = w.grad
g is not None
"""),
    "grad mode left off by a function": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
def evaluate():
    torch.set_grad_enabled(False)
    return (w * 2).sum().item()
evaluate()
loss = (w * 2).sum()
loss.backward()
torch.is_grad_enabled()
"""),
    "grad mode left off": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
torch.set_grad_enabled(False)
score = (w * 3).sum().item()
loss = (w * 2).sum()
loss.backward()
torch.is_grad_enabled()
"""),
    "grad mode switched on again, but too late": ("grad-mode-off", """
enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
torch.set_grad_enabled(False)
h = enc(torch.randn(4, 3))
torch.set_grad_enabled(True)
head(h).mean().backward()
g = enc.weight.grad
g is not None
"""),
    "a block that switches grad mode off": ("grad-mode-off", """
enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
with torch.set_grad_enabled(False):
    h = enc(torch.randn(4, 3))
head(h).mean().backward()
g = enc.weight.grad
g is not None
"""),
    "a method decorated with set_grad_enabled": ("grad-mode-off", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
    @torch.set_grad_enabled(False)
    def features(self, x):
        return self.enc(x)
    def forward(self, x):
        return self.head(self.features(x))
net = Net()
net(torch.randn(4, 3)).mean().backward()
g = net.enc.weight.grad
g is not None
"""),
    "a value that lost its history": ("detach", """
a = torch.ones(3, requires_grad=True)
b = a.data * 2
tracked = b.requires_grad
tracked
"""),
    "a list of numbers": ("value-copied-out", """
a = torch.ones(3, requires_grad=True)
b = torch.tensor([p ** 0.5 for p in a.tolist()])
tracked = b.requires_grad
tracked
"""),
    "nothing is left by dropout": ("zero-factor", """
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(p=1.0), nn.Linear(8, 1))
net(torch.randn(5, 4)).pow(2).mean().backward()
g = net[0].weight.grad
bool(g.any())
"""),
    "a step without a backward": ("no-backward", """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.step()
not torch.equal(before, net.weight)
"""),
    "counted errors": ("non-differentiable-op", """
net = nn.Linear(4, 3)
x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
logits = net(x)
guess = logits.argmax(dim=1)
loss = (guess != y).float().mean()
loss.backward()
loss.requires_grad
"""),
    "clipped by NumPy": ("value-copied-out", """
import numpy as np
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
a = actor(torch.randn(4, 3))
a = torch.from_numpy(np.clip(a.detach().numpy(), -1, 1))
critic(a).mean().backward()
g = actor.weight.grad
g is not None
"""),
    "computed above a loop that stands in a try": ("graph-freed", """
w = torch.ones(3, requires_grad=True)
h = torch.exp(w)
try:
    for i in range(3):
        loss = (h * i).sum()
        loss.backward()
finally:
    done = i
done == 2
"""),
    "softmax of a single output": ("zero-factor", """
net = nn.Linear(3, 1)
p = torch.softmax(net(torch.randn(4, 3)), dim=1)
((p - 0.3) ** 2).mean().backward()
g = net.weight.grad
bool(g.any())
"""),
    "a forward that is called directly": ("custom-backward", """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach() * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
x = torch.ones(2, requires_grad=True)
y = Twice.forward(None, x)
loss = y.sum()
loss.backward()
loss.requires_grad
"""),
    "a sum of numbers, and a patch": ("loss-requires-grad-patch", """
net = nn.Linear(3, 1)
total = 0.0
for _ in range(2):
    total += net(torch.randn(4, 3)).pow(2).mean().item()
loss = torch.tensor(total / 2)
loss.requires_grad = True
loss.backward()
g = net.weight.grad
g is not None
"""),
    "a state that a module keeps": ("graph-freed", """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(5, 4)
        self.state = torch.zeros(1, 4)
    def forward(self, x):
        self.state = torch.tanh(self.cell(torch.cat([self.state.expand(1, -1), x], 1)))
        return self.state
memory = Memory()
for _ in range(3):
    memory(torch.randn(1, 1)).sum().backward()
memory.cell.weight.grad is not None
"""),
    "a buffer that is to be learned": ("never-required-grad", """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("gain", torch.ones(3))
        self.shift = nn.Parameter(torch.zeros(3))
    def forward(self, x):
        return x * self.gain + self.shift
norm = Norm()
norm(torch.randn(2, 3)).sum().backward()
g = norm.gain.grad
g is not None
"""),
    "a weight clamped between forward and backward": ("inplace-saved-tensor", """
first, second = nn.Linear(3, 4), nn.Linear(4, 1)
out = second(torch.relu(first(torch.randn(5, 3))))
with torch.no_grad():
    second.weight.clamp_(min=0)
out.sum().backward()
first.weight.grad is not None and bool((second.weight >= 0).all())
"""),
    "a hook registered by a decorator": ("hook-modified", """
w = torch.ones(3, requires_grad=True)
@w.register_hook
def soften(grad):
    return grad * 0.1
(w * 2).sum().backward()
g = w.grad
bool((g == 2).all())
"""),
    "rounding of an expression": ("zero-local-derivative", """
w = torch.tensor([0.3, 0.8], requires_grad=True)
q = torch.round(w * 8) / 8
q.sum().backward()
g = w.grad
bool((g == 1).all())
"""),
    "a hard threshold": ("non-differentiable-op", """
net = nn.Linear(4, 1)
target = torch.rand(5, 1)
p = torch.sigmoid(net(torch.randn(5, 4)))
mask = (p > 0.5).float()
loss = 1 - (mask * target).sum() / target.sum()
loss.backward()
loss.requires_grad
"""),
    "two networks that take turns": ("inplace-saved-tensor", """
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
og, od = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
fake = G(torch.randn(8, 2))
d_fake = D(fake)
loss_d = d_fake.mean() - D(torch.randn(8, 3)).mean()
loss_g = -d_fake.mean()
od.zero_grad(); loss_d.backward(retain_graph=True)
wanted = [p.detach() - 0.1 * p.grad for p in D.parameters()]
od.step()
og.zero_grad(); loss_g.backward(); og.step()
all(torch.allclose(p, w) for p, w in zip(D.parameters(), wanted))
"""),
    "the two states of an LSTM": ("graph-freed", """
rnn, head = nn.LSTM(4, 5), nn.Linear(5, 1)
state = None
for _ in range(2):
    out, state = rnn(torch.randn(3, 4), state)
    head(out).sum().backward()
len(state) == 2
"""),
    "a product computed in NumPy": ("value-copied-out", """
enc = nn.Linear(4, 4)
h = enc(torch.randn(3, 4))
h = torch.from_numpy(h.detach().numpy() * 2)
nn.Linear(4, 1)(h).sum().backward()
g = enc.weight.grad
g is not None
"""),
    "a loss that was forgotten": ("unused-in-loss", """
trunk, main, aux = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)
h = trunk(torch.randn(4, 3))
aux_loss = aux(h).pow(2).mean()
loss = main(h).pow(2).mean()
loss.backward()
g = aux.weight.grad
g is not None
"""),
    "counted errors, and a patch": ("loss-requires-grad-patch", """
net = nn.Linear(4, 3)
y = torch.randint(0, 3, (5,))
logits = net(torch.randn(5, 4))
loss = (logits.argmax(dim=1) != y).float().mean()
loss.requires_grad_(True)
loss.backward()
g = net.weight.grad
g is not None
"""),
    "a weight that another network makes": ("parameter-rewrapped", """
hyper, main = nn.Linear(4, 6), nn.Linear(6, 1)
main.weight = nn.Parameter(hyper(torch.randn(4)).view(1, 6))
main(torch.randn(8, 6)).pow(2).mean().backward()
g = hyper.weight.grad
g is not None
"""),
    "a step between forward and backward": ("inplace-saved-tensor", """
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
action = actor(torch.randn(6, 3))
q = critic(action)
actor_loss = -q.mean()
(q - 1).pow(2).mean().backward(retain_graph=True)
optimizer.step()
if True:
    actor_loss.backward()
actor.weight.grad is not None
"""),
    "a loop over weights between forward and backward": ("silent-data-edit", """
first, second = nn.Linear(3, 4, bias=False), nn.Linear(4, 1, bias=False)
x = torch.randn(6, 3)
weight = second.weight.detach() * 5
second.weight.data.copy_(weight)
loss = second(first(x)).sum()
for p in second.parameters():
    p.data.clamp_(-1, 1)
loss.backward()
g = first.weight.grad
torch.allclose(g, weight.t() * x.sum(0))
"""),
    "detached by name": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
h = w * 2
h = h.detach()
(h * b).sum().backward()
g = w.grad
g is not None
"""),
    "wrapped as a parameter": ("parameter-rewrapped", """
theta = torch.ones(3, requires_grad=True)
fast = nn.Parameter(theta - 0.1)
(fast * 2).sum().backward()
g = theta.grad
g is not None
"""),
    "a loss made to require grad": ("loss-requires-grad-patch", """
w = torch.ones(3, requires_grad=True)
loss = (w * 2).detach().sum()
loss.requires_grad = True
loss.backward()
g = w.grad
g is not None
"""),
    "never cleared, with an optimizer": ("grad-accumulated", """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
x = torch.randn(5, 3)
norms = []
for _ in range(3):
    net(x).pow(2).mean().backward()
    norms.append(net.weight.grad.norm().item())
    optimizer.step()
norms[2] < 1.5 * norms[0]
"""),
    "never cleared, by hand": ("grad-accumulated", """
x = torch.ones(3, requires_grad=True)
norms = []
for _ in range(3):
    (x ** 2).sum().backward()
    norms.append(x.grad.norm().item())
norms[2] == norms[0]
"""),
    "never cleared, all parameters": ("grad-accumulated", """
net = nn.Linear(3, 1)
x = torch.randn(5, 3)
norms = []
for _ in range(3):
    net(x).pow(2).mean().backward()
    norms.append(sum(p.grad.norm().item() for p in net.parameters()))
norms[2] == norms[0]
"""),
    "cleared too early": ("grad-cleared", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * w).sum().backward()
optimizer.zero_grad()
g = w.grad
g is not None
"""),
    "cleared before the step": ("grad-cleared", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    loss = (w * w).sum()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
w[0].item() != 1
"""),
    "layers in a list": ("not-in-optimizer", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2)]
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        return self.out(self.layers[0](x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
g = net.layers[0].weight.grad
len(list(net.parameters())) == 4
"""),
    "only the head": ("not-in-optimizer", """
body, head = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
head(body(torch.ones(1, 2))).sum().backward()
optimizer.step()
g = body.weight.grad
sum(len(group["params"]) for group in optimizer.param_groups) == 4
"""),
    "a layer swapped later": ("not-in-optimizer", """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net[1] = nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
g = net[1].weight.grad
any(p is net[1].weight for group in optimizer.param_groups for p in group["params"])
"""),
    "a carried state": ("graph-freed", """
cell = nn.RNNCell(2, 3)
h = torch.zeros(1, 3)
for x in torch.randn(3, 1, 2):
    h = cell(x, h)
    h.sum().backward()
True
"""),
    "a carried pair of states": ("graph-freed", """
cell = nn.LSTMCell(2, 3)
h, c = torch.zeros(1, 3), torch.zeros(1, 3)
for x in torch.randn(3, 1, 2):
    h, c = cell(x, (h, c))
    h.sum().backward()
True
"""),
    "a state that begins as None": ("graph-freed", """
rnn = nn.RNN(2, 3)
h = None
for x in torch.randn(3, 4, 1, 2):
    out, h = rnn(x, h)
    out.sum().backward()
True
"""),
    "a pair that begins as None": ("graph-freed", """
rnn = nn.LSTM(2, 3)
state = None
for x in torch.randn(3, 4, 1, 2):
    out, state = rnn(x, state)
    out.sum().backward()
True
"""),
    "two losses of one output": ("graph-freed", """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.sum().backward()
y.mean().backward()
x.grad is not None
"""),
    "a forward above the loop": ("graph-freed", """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 3)
out = net(x)
loss = out.pow(2).mean()
for _ in range(3):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
True
"""),
    "a vector": ("non-scalar-backward", """
x = torch.ones(2, requires_grad=True)
y = x * 2
y.backward()
x.grad is not None
"""),
    "the gradient of a vector": ("non-scalar-backward", """
x = torch.ones(2, requires_grad=True)
y = x * 2
g, = torch.autograd.grad(y, x)
g is not None
"""),
    "a gradient of another shape": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
loss = x.sum()
loss.backward(torch.ones(1))
x.grad is not None
"""),
    "one number for all": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
y = x * 2
y.backward(gradient=torch.tensor(0.5))
x.grad[0].item() == 1
"""),
    "a leaf changed in place": ("leaf-inplace", """
w = torch.ones(2, requires_grad=True)
(w * w).sum().backward()
w -= 0.1 * w.grad
w[0].item() != 1 and w.is_leaf
"""),
    "a row of a leaf set": ("leaf-inplace", """
table = nn.Embedding(3, 2)
table.weight[0] = 0
table.weight[0, 0].item() == 0
"""),
    "a saved value added to": ("inplace-saved-tensor", """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y += 1
y.sum().backward()
x.grad is not None
"""),
    "a saved value clipped in place": ("inplace-saved-tensor", """
x = torch.ones(2, requires_grad=True)
y = torch.sigmoid(x)
y.clamp_(max=0.5)
y.sum().backward()
x.grad is not None
"""),
    "a part of a saved value": ("inplace-saved-tensor", """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y[0] = 0
y.sum().backward()
x.grad is not None
"""),
    "a layer that works in place": ("inplace-saved-tensor", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.act = nn.ReLU(inplace=True)
    def forward(self, x):
        return self.act(torch.sigmoid(self.fc(x)))
net = Net()
net(torch.ones(1, 2)).sum().backward()
net.fc.weight.grad is not None
"""),
    "a step before the backward": ("inplace-saved-tensor", """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(1, 2)
loss, other = net(x).sum(), net(x).pow(2).sum()
loss.backward()
optimizer.step()
other.backward()
True
"""),
    "a gradient without history": ("no-create-graph", """
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x)
penalty = (g ** 2).sum()
penalty.backward()
x.grad is not None
"""),
    "an input that is not used": ("unused-in-loss", """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
ga, gb = torch.autograd.grad((a * 2).sum(), [a, b])
gb is None
"""),
    "a backward that forgets to return": ("custom-backward", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        g * 2
x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
g = x.grad
g is not None
"""),
    "a dead relu": ("zero-local-derivative", """
w = torch.ones(2, requires_grad=True)
h = torch.relu(w - 10)
(h * 3 + 1).sum().backward()
g = w.grad
bool((g != 0).all())
"""),
    "a square root of zero behind a mask": ("nan-derivative", """
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros(2))
y.sum().backward()
g = x.grad
bool(torch.isfinite(g).all())
"""),
    "a square root of zero": ("nan-derivative", """
x = torch.zeros(2, requires_grad=True)
y = (x ** 2).sum().sqrt()
y.backward()
g = x.grad
bool(torch.isfinite(g).all())
"""),
    "a column against a row": ("broadcast-loss", """
net = nn.Linear(2, 1)
target = torch.randn(5)
pred = net(torch.randn(5, 2))
diff = pred - target
(diff ** 2).mean().backward()
g = net.weight.grad
diff.numel() == 5
"""),
    "a column against a row, in one expression": ("broadcast-loss", """
net = nn.Linear(2, 1)
target = torch.randn(5)
loss = ((net(torch.randn(5, 2)) - target) ** 2)
loss.mean().backward()
g = net.weight.grad
loss.numel() == 5
"""),
    "the gradient of an entry of a state_dict": ("detach", """
net = nn.Linear(3, 1)
net(torch.randn(4, 3)).mean().backward()
weights = net.state_dict()
g = weights["weight"].grad
g is not None
"""),
    "a Variable of .data": ("detach", """
net, head = nn.Linear(3, 2), nn.Linear(2, 1)
h = net(torch.randn(4, 3))
h = torch.autograd.Variable(h.data, requires_grad=True)
head(h).mean().backward()
g = net.weight.grad
g is not None
"""),
    "new_tensor of a result": ("value-copied-out", """
net, head = nn.Linear(3, 2), nn.Linear(2, 1)
x = torch.randn(4, 3)
h = x.new_tensor(net(x))
head(h).mean().backward()
g = net.weight.grad
g is not None
"""),
    "a mode that is entered and not left": ("grad-mode-off", """
net = nn.Linear(3, 1)
quiet = torch.no_grad()
quiet.__enter__()
score = net(torch.ones(1, 3)).item()
loss = net(torch.randn(4, 3)).mean()
loss.backward()
net.weight.grad is not None
"""),
    "a choice as one_hot": ("non-differentiable-op", """
scores, table = nn.Linear(3, 4), nn.Linear(4, 2)
s = scores(torch.randn(5, 3))
hard = nn.functional.one_hot(s.argmax(-1), 4).float()
table(hard).pow(2).mean().backward()
g = scores.weight.grad
g is not None and torch.equal(hard.argmax(-1), s.argmax(-1))
"""),
    "log of a softmax": ("nan-derivative", """
x = torch.tensor([[200.0, 0.0]], requires_grad=True)
loss = -torch.log(torch.softmax(x, dim=1))[0, 1]
loss.backward()
g = x.grad
bool((g - torch.tensor([[1.0, -1.0]])).abs().max() < 1e-6)
"""),
    "log of a chosen probability": ("nan-derivative", """
x = torch.tensor([[200.0, 0.0]], requires_grad=True)
p = x.softmax(1)
loss = -p[torch.arange(1), torch.tensor([1])].log().mean()
loss.backward()
g = x.grad
bool((g - torch.tensor([[1.0, -1.0]])).abs().max() < 1e-6)
"""),
    "log of one minus a sigmoid": ("nan-derivative", """
x = torch.tensor([200.0], requires_grad=True)
loss = -torch.log(1 - torch.sigmoid(x)).sum()
loss.backward()
g = x.grad
g.item() == 1
"""),
    "a ratio to itself": ("missing-detach", """
w = torch.ones(3, requires_grad=True)
logp = torch.log_softmax(w * torch.arange(1.0, 4.0), 0)
old_logp = logp
ratio = torch.exp(logp - old_logp)
(ratio * torch.arange(3.0)).sum().backward()
g = w.grad
bool(g.any())
"""),
    "the gradients of two arguments exchanged": ("custom-backward", """
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * a, g * b
a, b = torch.full((2,), 2.0, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
Product.apply(a, b).sum().backward()
g = a.grad
g[0].item() == 3
"""),
    "backward that is not called": ("no-backward", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (w * w).sum()
    loss.backward
    optimizer.step()
w.grad is not None
"""),
    "zero_grad that is not called": ("grad-accumulated", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad
    loss = w.sum()
    loss.backward()
    optimizer.step()
w.grad[0].item() == 1
"""),
    "step that is not called": ("step-missing", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = w.sum()
    loss.backward()
    optimizer.step
w[0].item() != 1
"""),
    "a closure without backward": ("no-backward", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.LBFGS([w])
def closure():
    optimizer.zero_grad()
    loss = (w * w).sum()
    return loss
for _ in range(2):
    optimizer.step(closure)
del closure  # which keeps this program's names, and so its optimizer, until the next one is watched
w[0].item() != 1
"""),
    "cleared before there is a gradient": ("no-backward", """
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    w.grad.zero_()
    (w * w).sum().backward()
w.grad is not None
"""),
    "steps that come rarer than backward": ("grad-accumulated", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
sizes = []
for i in range(6):
    w.sum().backward()
    if i % 2:
        sizes.append(w.grad.norm().item())
        optimizer.step()
sizes[2] == sizes[0] > 3
"""),
    "cleared once too often": ("grad-cleared", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad(set_to_none=False)
    w.sum().backward()
    optimizer.step()
optimizer.zero_grad(set_to_none=False)
g = w.grad
bool(g.any())
"""),
    "clipped before backward": ("clip-misplaced", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (100 * w).sum()
    nn.utils.clip_grad_norm_([w], 1.0)
    loss.backward()
    optimizer.step()
w.grad.norm().item() < 1.1
"""),
    "clipped before the scale is taken back": ("clip-misplaced", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale((w * w).sum()).backward()
    nn.utils.clip_grad_norm_([w], 1.0)
    scaler.step(optimizer)
    scaler.update()
w.grad.norm().item() > 0.9
"""),
    "copies that are trained": ("not-in-optimizer", """
import copy
base = nn.Linear(2, 1)
optimizer = torch.optim.SGD(base.parameters(), lr=0.1)
learners = [copy.deepcopy(base) for _ in range(2)]
for _ in range(2):
    optimizer.zero_grad()
    sum(m(torch.randn(1, 2)).sum() for m in learners).backward()
    optimizer.step()
sum(len(group["params"]) for group in optimizer.param_groups) == 4
"""),
    "a layer that a method swaps": ("not-in-optimizer", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 5)
    def forward(self, x):
        return self.head(self.body(x))
    def adapt(self, classes):
        self.head = nn.Linear(2, classes)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.adapt(3)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
any(p is net.head.weight for group in optimizer.param_groups for p in group["params"])
"""),
}


class Ran:
    """A program that was run in this process: on whygrad under the watch, or on PyTorch."""

    def __init__(self, program: str, library: str) -> None:
        self.error: Exception | None = None
        self.answers: list[Answer] = []
        lines = program.rstrip("\n").split("\n")
        self.text = "\n".join(lines[:-1]) + "\n"
        if library == "whygrad":
            self.text = self.text.replace("import torch.nn as nn", "import whygrad.nn as nn").replace(
                "import torch\n", "import whygrad as torch\n")
        name = f"/nowhere/{abs(hash(self.text))}.py"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"__name__": "program"}
        watch = Watch() if library == "whygrad" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if watch is not None:
                OPTIMIZERS.clear()  # those of earlier programs may not be collected yet
                watch.start()
            try:
                exec(compile(self.text, name, "exec"), scope)
                self.value = eval(compile(lines[-1].strip(), "check", "eval"), scope) if watch is None else None
            except Exception as error:
                self.error = error
            finally:
                if watch is not None:
                    self.answers = watch.stop()
                scope["torch"].set_grad_enabled(True)


def changed(program: str, edit: Edit) -> str:
    lines = {e.line: e.new for e in (edit, *edit.also)}
    return with_lines(program.encode(), lines).decode()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_edit_mends(name: str) -> None:
    category, program = PROGRAMS[name]
    program = HEAD + program.lstrip("\n")
    before = Ran(program, "whygrad")
    found = [a for a in before.answers if a.explanation.category == category]
    assert found, [str(a) for a in before.answers]
    tried = edits_for(found[0].explanation)
    assert tried, "no edit"
    not_mended: list[str] = []
    for edit in tried:
        mended = changed(program, edit)
        after = Ran(mended, "whygrad")
        puzzling = {a.explanation.category for a in after.answers} - EXPECTED.get(category, set())
        if after.error is None and not puzzling:
            theirs = Ran(mended, "torch")
            assert theirs.error is None, mended
            assert theirs.value, mended
            return
        not_mended.append(f"{mended}\n{after.error!r} {puzzling}")
    pytest.fail("\n\n".join(not_mended))


FIRST_IS_RIGHT = set(PROGRAMS) - {"a pair that begins as None"}


@pytest.mark.parametrize("name", sorted(FIRST_IS_RIGHT))
def test_the_first_edit_is_the_right_one(name: str) -> None:
    category, program = PROGRAMS[name]
    program = HEAD + program.lstrip("\n")
    found = next(a for a in Ran(program, "whygrad").answers if a.explanation.category == category)
    edit = found.explanation.edit
    assert edit is not None
    mended = changed(program, edit)
    theirs = Ran(mended, "torch")
    assert theirs.error is None, mended
    assert theirs.value, mended


def test_naive_use_of_an_edit() -> None:
    """Who only replaces the one line (an empty `new` leaves an empty line) gets the same program."""
    for name in ("a decorated forward", "a leaf changed in place", "an output's gradient"):
        program = HEAD + PROGRAMS[name][1].lstrip("\n")
        edit = Ran(program, "whygrad").answers[0].explanation.edit
        assert edit is not None
        assert edit.also == []
        lines = program.split("\n")
        lines[edit.line - 1] = edit.new
        assert Ran("\n".join(lines), "torch").value


# Answers that are made up, to try the menders on more than the watch finds today.

# category, headline, program, causes, read, result
MADE_UP: list[tuple[str, str, str, list[str], str, str]] = [
    ("value-copied-out", "", "loss = a.item() + b", ["a.item()"], "w.grad", "loss = a + b"),
    ("value-copied-out", "", "loss = float(a * 2) + b", ["float(a * 2)"], "w.grad", "loss = (a * 2) + b"),
    ("value-copied-out", "", "import torch\nt = torch.tensor([x.item() for x in xs])", ["torch.tensor([x.item() for x in xs])"],
     "w.grad", "import torch\nt = torch.stack([x for x in xs])"),
    ("value-copied-out", "", "import torch\nxs = []\nxs.append(l.item())\nt = torch.tensor(xs)", ["torch.tensor(xs)"], "w.grad",
     "import torch\nxs = []\nxs.append(l)\nt = torch.stack(xs)"),
    ("value-copied-out", "", "import torch\nimport numpy as np\nt = torch.from_numpy(np.exp(x.detach().numpy()))",
     ["torch.from_numpy(np.exp(x.detach().numpy()))"], "w.grad", "import torch\nimport numpy as np\nt = torch.exp(x)"),
    ("loss-requires-grad-patch", "", "import torch\nloss = torch.tensor(l.item())\nloss.requires_grad = True\nloss.backward()",
     ["loss.requires_grad", "torch.tensor(l.item())"], "w.grad", "import torch\nloss = l\nloss.backward()"),
    ("grad-mode-off", "RuntimeError: Inference tensors cannot be saved",
     "import torch\nwith torch.inference_mode():\n    h = w * 2\n(h * b).sum()",
     ["torch.inference_mode()"], "h * b", "import torch\nwith torch.no_grad():\n    h = w * 2\n(h * b).sum()"),
    ("never-required-grad", "RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
     "import torch\nx = torch.tensor([1, 2], requires_grad=True)", [], "torch.tensor([1, 2], requires_grad=True)",
     "import torch\nx = torch.tensor([1, 2], requires_grad=True, dtype=torch.float32)"),
    ("never-required-grad", "RuntimeError: only Tensors of floating point dtype can require gradients", "x.requires_grad_()", [],
     "x.requires_grad_()", "x = x.float().requires_grad_()"),
    ("silent-data-edit", "", "loss = f(w)\nw.data.mul_(2)\nloss.backward()\ng = w.grad", ["w.data.mul_(2)"], "w.grad",
     "loss = f(w)\nloss.backward()\nw.data.mul_(2)\ng = w.grad"),
    ("view-inplace", "RuntimeError: view", "a, b = x.chunk(2)\na *= 2", [], "a *= 2", "a, b = x.chunk(2)\na = a.clone()\na *= 2"),
    ("hook-modified", "", "w.register_hook(h)\nw.sum().backward()\nw.grad", ["w.register_hook(h)"], "w.grad",
     "w.sum().backward()\nw.grad"),
    ("hook-modified", "", "k = w.register_hook(h)\nw.sum().backward()\nw.grad", ["w.register_hook(h)"], "w.grad",
     "k = w.register_hook(h)\nk.remove()\nw.sum().backward()\nw.grad"),
    ("missing-detach", "", "total += loss", ["total += loss"], "total.requires_grad", "total += loss.detach()"),
    ("missing-detach", "", "losses.append(loss)", ["losses.append(loss)"], "l.requires_grad", "losses.append(loss.detach())"),
    ("missing-detach", "", "t = teacher(x)", ["teacher(x)"], "w.grad", "t = teacher(x).detach()"),
    ("step-missing", "", "o = optim.SGD(p, 0.1)\nfor x in d:\n    f(x).backward()", ["f(x).backward()", "optim.SGD(p, 0.1)"],
     "f(x).backward()", "o = optim.SGD(p, 0.1)\nfor x in d:\n    f(x).backward()\n    o.step()"),
    ("returned-not-stored", "", "import torch\ng, = torch.autograd.grad(y, x)\nx.grad", ["torch.autograd.grad(y, x)"], "x.grad",
     "import torch\ng, = torch.autograd.grad(y, x)\nx.grad = g\nx.grad"),
    ("returned-not-stored", "", "import torch\na, b = torch.autograd.grad(y, [x, w])\nx.grad", ["torch.autograd.grad(y, [x, w])"],
     "x.grad",
     "import torch\na, b = torch.autograd.grad(y, [x, w])\nx.grad, w.grad = a, b\nx.grad"),
    ("returned-not-stored", "", "import torch\ngs = torch.autograd.grad(y, m.parameters())\nm.w.grad",
     ["torch.autograd.grad(y, m.parameters())"], "m.w.grad",
     "import torch\ngs = torch.autograd.grad(y, m.parameters())\nfor p, g in zip(m.parameters(), gs):\n    p.grad = g\nm.w.grad"),
    ("returned-not-stored", "", "y.backward(inputs=[x])\nw.grad", ["y.backward(inputs=[x])"], "w.grad", "y.backward()\nw.grad"),
    ("clip-misplaced", "", "y.backward()\no.step()\nclip(p)", ["clip(p)"], "clip(p)", "y.backward()\nclip(p)\no.step()"),
    ("non-leaf-requires-grad", "RuntimeError: flags", "z = f(x)\nz.requires_grad = False", [], "z.requires_grad",
     "z = f(x)\nz = z.detach()"),
    ("non-leaf-requires-grad", "RuntimeError: flags", "z = f(x)\nz.requires_grad = True", [], "z.requires_grad", "z = f(x)"),
    ("deepcopy-nonleaf", "RuntimeError: copy", "def forward(self, x):\n    h = f(x)\n    self.last = h\n    return h",
     ["f(x)"], "",
     "def forward(self, x):\n    h = f(x)\n    self.last = h.detach()\n    return h"),
    ("checkpoint-no-grad-input", "", "y = checkpoint(f, x)", ["checkpoint(f, x)"], "w.grad",
     "y = checkpoint(f, x, use_reentrant=False)"),
    ("custom-backward", "RuntimeError: function ABackward returned an incorrect number of gradients (expected 3, got 2)",
     "class A(Function):\n    def forward(ctx, a, b, c): return a\n    def backward(ctx, g):\n        return (g, g)", [], "g",
     "class A(Function):\n    def forward(ctx, a, b, c): return a\n    def backward(ctx, g):\n        return (g, g, None)"),
    ("custom-backward", "RuntimeError: function ABackward returned an incorrect number of gradients (expected 1, got 2)",
     "class A(Function):\n    def forward(ctx, a): return a\n    def backward(ctx, g):\n        return g, g", [], "g",
     "class A(Function):\n    def forward(ctx, a): return a\n    def backward(ctx, g):\n        return g"),
    ("nan-derivative", "", "y = a / b", ["a / b"], "a.grad", "y = a / (b + 1e-8)"),
    ("nan-derivative", "", "y = (a * b) ** 0.5", ["(a * b) ** 0.5"], "a.grad", "y = (a * b + 1e-8) ** 0.5"),
    ("nan-derivative", "", "y = (a * b).log()", ["(a * b).log()"], "a.grad", "y = (a * b + 1e-8).log()"),
    ("nan-derivative", "", "import torch\ny = torch.acos(c)", ["torch.acos(c)"], "c.grad",
     "import torch\ny = torch.acos(c.clamp(-1 + 1e-6, 1 - 1e-6))"),
    ("zero-local-derivative", "", "q = torch.round(w)", ["torch.round(w)"], "w.grad", "q = (w + (torch.round(w) - w).detach())"),
    ("zero-factor", "", "import torch\nz = torch.normal(mu, std)", ["torch.normal(mu, std)"], "w.grad",
     "import torch\nz = (mu + std * torch.randn_like(std))"),
    ("inplace-saved-tensor", "", "x.mul_(2)", ["x.mul_(2)"], "", "x = x.mul(2)"),
    ("inplace-saved-tensor", "", "x *= a + b", ["x *= a + b"], "", "x = x * (a + b)"),
    ("inplace-saved-tensor", "", "y = F.relu(x, inplace=True)", ["F.relu(x, inplace=True)"], "", "y = F.relu(x)"),
    ("leaf-replaced", "ValueError: can't optimize a non-leaf Tensor",
     "import torch\nw = torch.zeros(3, requires_grad=True) / 2\no = SGD([w])",
     ["torch.zeros(3, requires_grad=True) / 2"], "SGD([w])",
     "import torch\nw = (torch.zeros(3) / 2).requires_grad_()\no = SGD([w])"),
]


def place_of(program: str, expression: str, file: str) -> SourceLocation | None:
    """Where an expression (or statement) is written in a program."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, (ast.expr, ast.stmt)) and ast.unparse(node) == expression:
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            return SourceLocation(file, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset, "", expression)
    return None


@pytest.mark.parametrize("case", MADE_UP, ids=lambda c: f"{c[0]}: {c[2]}"[:60])
def test_made_up_answers(case: tuple[str, str, str, list[str], str, str]) -> None:
    category, headline, program, causes, read, result = case
    name = f"/nowhere/{abs(hash(program))}.py"
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    found = [place_of(program, c, name) for c in causes]
    told = Explanation(headline, category, "", causes=[p for p in found if p is not None], read=place_of(program, read, name))
    if told.read is None and read.endswith(".grad"):
        told.read = SourceLocation(name, 1, 1, 0, 0, "", read)
    edits = edits_for(told)
    assert edits
    assert changed(program, edits[0]).rstrip("\n") == result


# What the pieces do, on awkward text.


def statement(text: str, line: int) -> tuple[SourceTree, Any]:
    """The last statement that begins on a line."""
    source = SourceTree("file.py", text.split("\n"))
    return source, [s for s in source.walk() if isinstance(s, ast.stmt) and s.lineno == line][-1]


@pytest.mark.parametrize(("text", "line", "change", "result"), [
    ("a = 1\nb = 2", 2, lambda c, s: c.before(s, "x()"), "a = 1\nx()\nb = 2"),
    ("if a:\n\tb = 2", 2, lambda c, s: c.before(s, "x()"), "if a:\n\tx()\n\tb = 2"),
    ("if a: b = 2", 1, lambda c, s: c.before(s, "x()"), "if a: x(); b = 2"),
    ("if a: b = 2", 1, lambda c, s: c.after(s, "x()"), "if a: b = 2; x()"),
    ("a = 1; b = 2  # two", 1, lambda c, s: c.wrap(s, "with n():"), "a = 1\nwith n():\n    b = 2  # two"),
    ("if a: b = 2; c = 3", 1, lambda c, s: c.wrap(s, "with n():"),
     "if a:\n    b = 2\n    with n():\n        c = 3"),
    ("for a in b:\n  c = (1 +\n    2)", 2, lambda c, s: c.wrap(s, "with n():"),
     "for a in b:\n  with n():\n    c = (1 +\n    2)"),
    ("if a:\n    b()", 2, lambda c, s: c.delete(s), "if a:\n    pass"),
    ("if a:\n    b()\n    c()", 2, lambda c, s: c.delete(s), "if a:\n    c()"),
    ("é = f(1,)", 1, lambda c, s: c.argument(s.value, "k=2"), "é = f(1, k=2)"),
    ("f(\n    1,\n    2\n)", 1, lambda c, s: c.argument(s.value, "k=2"), "f(\n    1,\n    2, k=2\n)"),
    ("f()", 1, lambda c, s: c.argument(s.value, "k=2"), "f(k=2)"),
    ("f(a, k=1, b=2)", 1, lambda c, s: c.drop_keyword(s.value, "k"), "f(a, b=2)"),
    ("f(k=1, b=2)", 1, lambda c, s: c.drop_keyword(s.value, "k"), "f(b=2)"),
    ("f(k=1)", 1, lambda c, s: c.drop_keyword(s.value, "k"), "f()"),
    ("(a + b).c()", 1, lambda c, s: c.drop_suffix(s.value.func, s.value), "(a + b)"),
    ("x = a + b", 1, lambda c, s: c.suffix(s.value, ".c()"), "x = (a + b).c()"),
    ("x = 'ü'; y = a", 1, lambda c, s: c.suffix(s.value, ".c()"), "x = 'ü'; y = a.c()"),
])
def test_changes(text: str, line: int, change: Callable[[Changes, Any], Changes], result: str) -> None:
    source, found = statement(text, line)
    edit = change(Changes(source), found).edit()
    assert edit is not None
    assert changed(text, edit) == result


def test_a_change_that_breaks_the_program_is_none() -> None:
    source, found = statement("a = 1", 1)
    assert Changes(source).replace(found, "a = (").edit() is None
    assert Changes(source).edit() is None


@pytest.mark.parametrize("data", [
    b"a = 1\r\nb = 2\r\n", b"a = 1\rb = 2", b"\xef\xbb\xbfa = 1\nb = 2\n",
    "# -*- coding: latin-1 -*-\ns = 'ä'\n".encode("latin-1"), b"a = 1\x0c\nb = 2",
])
def test_encoding_and_line_endings_stay(data: bytes) -> None:
    new = with_lines(data, {2: "x\ny"})
    first, ending = next((data[:data.index(e)], e) for e in (b"\r\n", b"\n", b"\r") if e in data)
    assert new.startswith(first + ending + b"x" + ending + b"y")
    assert with_lines(data, {}) == data
    ast.parse(new)


def test_where_a_line_has_gone() -> None:
    edit = Edit("f", 3, "a\nb", also=[Edit("f", 5, "")])
    assert list(moved(edit, "f", 2)) == [2]
    assert list(moved(edit, "f", 3)) == [3, 4]
    assert list(moved(edit, "f", 4)) == [5]
    assert list(moved(edit, "f", 6)) == [6]
    assert list(moved(edit, "other", 6)) == [6]


HOSTILE = ["", "x", "\n\n\n", "def f(:\n", "w.grad\n", "lambda: w.grad\n", "f(*a, **k)\n", "a = b = c\n", "(yield)\n",
           "match x:\n    case 1: w.grad\n", "async def f():\n    async with a: await b\n", "@a\n@b\nclass C: x: int = 1\n",
           "x = f'{a!r:>{w}}' 'b'\n", "w += 1; w -= 1\n", "if a: w.grad\nelse: b\n", "[w.grad for w in a if w]\n",
           "\x0c\nw.grad\n"]


@pytest.mark.parametrize("category", FIXERS)
def test_any_text_at_any_place(category: str) -> None:
    """Whatever stands at the places an answer names: there is an edit that is Python, or none."""
    for number, text in enumerate(HOSTILE):
        name = f"/nowhere/hostile_{number}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        for line in range(1, len(text.split("\n")) + 2):
            here = SourceLocation(name, line, line, 0, len(text.split("\n")[0]), "", "w.grad")
            told = Explanation("RuntimeError: expected 2, got 1", category, "text", causes=[here, here], read=here, backward=here)
            for edit in edits_for(told):
                assert edit.file == name
            assert edits_for(Explanation("", category, "", causes=[])) == []
            assert isinstance(told.to_dict()["edit"], (dict, type(None)))


@pytest.mark.parametrize("hook", ["lambda g: (seen.append(g.norm()), g * 3)[1]", "log"])
def test_a_hook_that_does_more_is_not_taken_away(hook: str) -> None:
    program = HEAD + f"""
seen = []
w = torch.ones(3, requires_grad=True)
def log(g):
    print(g.shape)
    return g * 3
w.register_hook({hook})
(w ** 2).sum().backward()
g = w.grad
True
"""
    [answer] = Ran(program, "whygrad").answers
    assert answer.explanation.category == "hook-modified"
    assert answer.explanation.edit is None


def test_a_category_without_a_mender_has_no_edit() -> None:
    assert Explanation("", "ok", "").edit is None
    known = Edit("f", 1, "new")
    assert Explanation("", "ok", "", known_edit=known).edit is known
