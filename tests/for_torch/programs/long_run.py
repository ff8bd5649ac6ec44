"""Forty steps, most of which are not recorded: custom functions, gradients written in every way, copies, checkpoints, memory."""

import copy
import hashlib
import io
import pickle
import weakref

import torch
from torch import nn


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.variable = x.shape
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8, sparse=False)
        self.rows = nn.EmbeddingBag(50, 8, mode="sum", sparse=True)
        self.body, self.wide = nn.Linear(8, 8), nn.Linear(8, 2100)
        self.norm, self.drop = nn.LayerNorm(8), nn.Dropout(0.2)

    def forward(self, i):
        h = self.table(i).mean(1) + self.rows(i)
        h = h + Clipped.apply(self.body(self.drop(self.norm(h))))
        return self.wide(h).square().mean() + h.relu().sum() * 1e-3


def digest(x):
    file = io.BytesIO()
    torch.save(x, file)
    return hashlib.md5(file.getvalue()).hexdigest()


torch.manual_seed(3)
net = Net()
average = copy.deepcopy(net)
sparse = torch.optim.SparseAdam(net.rows.parameters(), lr=0.01)
dense = torch.optim.AdamW([p for name, p in net.named_parameters() if not name.startswith("rows")], lr=0.01)
second = torch.optim.LBFGS([net.norm.weight], lr=0.1, max_iter=2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(dense, 40)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
came = []
net.body.weight.register_hook(lambda g: came.append((g.data_ptr(), g.clone())))
freed = []
net.wide.weight.register_post_accumulate_grad_hook(lambda p: freed.append(p.grad._version))
for step in range(40):
    i = torch.randint(0, 50, (6, 4))
    dense.zero_grad()
    sparse.zero_grad(set_to_none=step % 2 == 0)
    hidden = []
    handle = net.norm.register_forward_hook(lambda module, args, output: (output.retain_grad(), hidden.append(output))[1])
    loss = net(i)
    graph = weakref.ref(loss)
    scaler.scale(loss).backward(retain_graph=step == 5)
    if step == 5:
        loss.backward()
    handle.remove()
    scaler.unscale_(dense)
    address, gradient = came.pop()
    if step < 5 or step > 35:
        print(step, address == net.body.weight.grad.data_ptr(), net.body.weight.grad._version, bool((gradient != 0).any()))
    if step % 3 == 0:
        net.body.weight.grad.data.clamp_(-0.1, 0.1)
    elif step % 3 == 1:
        net.body.weight.grad.numpy()[0] = 0.5
    else:
        net.body.weight.grad = net.body.weight.grad * 0.5
    total = nn.utils.clip_grad_norm_([p for p in net.parameters() if p.grad is not None and not p.grad.is_sparse], 1.0)
    sparse.step()
    scaler.step(dense)
    scaler.update()
    schedule.step()
    if step % 10 == 9:
        def closure():
            second.zero_grad()
            again = net(i)
            again.backward()
            return again

        second.step(closure)
        print(step, f"{loss.item():.9f} {total.item():.9f}", digest(net.state_dict()), digest(dense.state_dict()))
    with torch.no_grad():
        for a, p in zip(average.parameters(), net.parameters(), strict=True):
            a.lerp_(p, 0.1)
    scratch = torch.empty(2000)
    scratch.untyped_storage().resize_(0)
    del loss, hidden[:]
    assert graph() is None, "a graph is kept alive"
print(pickle.loads(pickle.dumps(net.body)).weight.sum().item(), digest(average), digest(copy.deepcopy(net)),
      len(freed), set(freed))
print(hashlib.md5(torch.get_rng_state().numpy().tobytes()).hexdigest(), sorted(vars(net.body.weight)), torch.is_grad_enabled())
