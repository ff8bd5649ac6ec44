# ok | 
# evidence: equal
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn


class ColumnParallel(nn.Module):
    """Each rank has one half of the columns; the layers around it are replicated."""

    def __init__(self, width, rank):
        super().__init__()
        generator = torch.Generator().manual_seed(100 + rank)
        self.weight = nn.Parameter(torch.randn(width, width // 2, generator=generator) / width)
        self.bias = nn.Parameter(torch.zeros(width // 2))
        self.weight.model_parallel = self.bias.model_parallel = True

    def forward(self, x):
        return Gather.apply(torch.tanh(Copy.apply(x) @ self.weight + self.bias))


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(2)]
        dist.all_gather(parts, x)
        return torch.cat(parts, -1)

    @staticmethod
    def backward(ctx, g):
        return g.chunk(2, -1)[dist.get_rank()].contiguous()


class ClippingOptimizer:
    """Every rank clips all that it has; the norm counts replicas once."""

    def __init__(self, inner, max_norm):
        self.inner, self.max_norm = inner, max_norm

    def grads_for_norm(self):
        for group in self.inner.param_groups:
            for p in group["params"]:
                if dist.get_rank() == 0 or getattr(p, "model_parallel", False):
                    yield p.grad

    def step(self):
        total = sum(g.pow(2).sum() for g in self.grads_for_norm())
        dist.all_reduce(total)
        factor = self.max_norm / (total.sqrt() + 1e-6)
        if factor < 1:
            for group in self.inner.param_groups:
                for p in group["params"]:
                    p.grad.mul_(factor)
        self.inner.step()
        self.inner.zero_grad()


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), ColumnParallel(8, rank), nn.LayerNorm(8), nn.Linear(8, 3))
    optimizer = ClippingOptimizer(torch.optim.Adam(net.parameters(), lr=1e-2), max_norm=0.1)
    for step in range(6):
        x = torch.randn(16, 8)
        loss = nn.functional.cross_entropy(net(x), (x[:, :3] * 2).argmax(1))
        loss.backward()
        optimizer.step()
    other = net[1].weight.detach().clone()
    dist.broadcast(other, 0)
    if rank == 1:
        print("evidence:", "equal" if torch.allclose(other, net[1].weight, atol=1e-7) else "different")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
