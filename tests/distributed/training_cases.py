"""Models and training steps of two ranks: functions of (torch, dist, rank)."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any


def part_of(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 4))


def cnn(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 3, bias=False),
                         nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Flatten(), nn.Linear(8 * 16, 4))


def gpt(torch: Any) -> Any:
    nn = torch.nn

    class GPT(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(17, 24), nn.Embedding(8, 24)
            layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(24, 17)

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            h = self.tokens(x) + self.places(torch.arange(x.shape[1]))
            return self.head(self.blocks(h, mask=mask, is_causal=True)).flatten(0, 1)

    return GPT()


MODELS = {"mlp": mlp, "cnn": cnn, "gpt": gpt}


def batch(torch: Any, name: str, step: int, rank: int | None, size: int = 4) -> tuple[Any, Any]:
    """The batch of a rank; that of both together without a rank."""
    generator = torch.Generator().manual_seed(step)
    shape = {"mlp": (2 * size, 12), "cnn": (2 * size, 1, 8, 8)}.get(name)
    if shape is not None:
        x, y = torch.randn(shape, generator=generator), torch.randint(0, 4, (2 * size,), generator=generator)
    else:
        text = torch.randint(0, 17, (2 * size, 9), generator=generator)
        x, y = text[:, :-1], text[:, 1:]
    own = slice(None) if rank is None else slice(rank * size, (rank + 1) * size)
    return x[own], y[own].reshape(-1)


def train(torch: Any, dist: Any, rank: int | None, name: str, options: dict[str, Any], steps: int = 4,
          hook: str = "", accumulated: int = 1) -> Any:
    """The losses of the whole batch, step by step, and the last gradients' and weights' norms."""
    torch.manual_seed(3 if rank is None else 3 + rank)  # DistributedDataParallel makes the weights equal
    model = MODELS[name](torch)
    if name == "cnn" and rank is not None and torch.__name__ == "whygrad":  # torch has none for the CPU
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if rank is not None:
        model = part_of(torch, "nn.parallel").DistributedDataParallel(model, **options)
    if hook:
        _register(torch, dist, model, hook)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = 0
        for i in range(accumulated):
            x, y = batch(torch, name, step * accumulated + i, rank)
            waits = rank is not None and i + 1 < accumulated
            context = model.no_sync() if waits else part_of(torch, "autograd").set_grad_enabled(True)
            with context:
                part = torch.nn.functional.cross_entropy(model(x), y) / accumulated
                part.backward()
            loss = loss + part.detach()
        if rank is not None:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(float(loss))
        optimizer.step()
    return losses, [float(p.grad.norm()) for p in model.parameters()], [float(p.detach().norm()) for p in model.parameters()]


def _register(torch: Any, dist: Any, model: Any, hook: str) -> None:
    hooks = f"{dist.__name__}.algorithms.ddp_comm_hooks"
    default = importlib.import_module(f"{hooks}.default_hooks")
    power = importlib.import_module(f"{hooks}.powerSGD_hook")
    if hook == "power":
        state = power.PowerSGDState(None, matrix_approximation_rank=8, start_powerSGD_iter=2, min_compression_rate=0.5)
        model.register_comm_hook(state, power.powerSGD_hook)
    elif hook == "own":
        def halve(state, bucket):  # type: ignore[no-untyped-def]  # torch reads annotations
            buffer = bucket.buffer() / 2
            assert sum(g.numel() for g in bucket.gradients()) == buffer.numel()
            return dist.all_reduce(buffer, async_op=True).get_future().then(lambda future: future.value()[0])

        model.register_comm_hook(None, halve)
    else:
        model.register_comm_hook(None, getattr(default, hook))


def branches(torch: Any, dist: Any, rank: int, options: dict[str, Any], tasks: list[list[int]]) -> Any:
    """A model in which each rank chooses a branch: the gradients after each step, or the error."""
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.body, self.first, self.second, self.never = (nn.Linear(3, 3) for _ in range(4))

        def forward(self, x: Any, task: int) -> Any:
            return {"out": (self.first if task == 0 else self.second)(self.body(x))}

    model = part_of(torch, "nn.parallel").DistributedDataParallel(Net(), **options)
    seen = []
    for task in tasks[rank]:
        model.zero_grad()
        model(torch.ones(2, 3) * (rank + 1), task)["out"].sum().backward()
        seen.append([None if p.grad is None else p.grad.clone() for p in model.parameters()])
    return seen


def twice(torch: Any, dist: Any, rank: int) -> Any:
    """Two backwards of one forward, forwards without gradients and without a backward, and one backward of two forwards."""
    model = part_of(torch, "nn.parallel").DistributedDataParallel(torch.nn.Linear(2, 2))
    out = model(torch.ones(2, 2) * (rank + 1))
    out.sum().backward(retain_graph=True)
    first = model.module.weight.grad.clone()
    out.sum().backward()
    second = model.module.weight.grad.clone()
    with torch.no_grad():
        model(torch.ones(2, 2))
    model(torch.ones(2, 2)).sum().backward()
    third = model.module.weight.grad.clone()
    model(torch.ones(2, 2))
    (model(torch.ones(2, 2) * (rank + 1)) - model(torch.ones(2, 2))).square().sum().backward()
    return first, second, third, model.module.weight.grad


def view(torch: Any, dist: Any, rank: int) -> Any:
    model = part_of(torch, "nn.parallel").DistributedDataParallel(mlp(torch), gradient_as_bucket_view=True)
    for _ in range(3):
        model.zero_grad(set_to_none=False)
        model(torch.ones(2, 12) * (rank + 1)).sum().backward()
    return [p.grad.clone() for p in model.parameters()], len({p.grad.untyped_storage().data_ptr() for p in model.parameters()})


def uneven(torch: Any, dist: Any, rank: int, steps: list[int], options: dict[str, Any], join: dict[str, Any],
           kind: str = "") -> Any:
    """Other numbers of batches, within `join`: gradients of each step, or the error; weights and buffers at the end."""
    nn = torch.nn
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4) if kind == "batch norm" else nn.Tanh(), nn.Linear(4, 90),
                        nn.Linear(90, 200), nn.Linear(200, 1))
    model = part_of(torch, "nn.parallel").DistributedDataParallel(net, **options)
    joinables = [model]
    if kind == "zero":
        optim = importlib.import_module(f"{dist.__name__}.optim")
        optimizer = optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
        joinables.append(optimizer)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    context = importlib.import_module(f"{dist.__name__}.algorithms.join").Join(joinables, **join) if kind == "zero" else (
        model.join(**join))
    seen: list[Any] = []
    try:
        with context:
            for step in range(steps[rank]):
                x = torch.randn(4, 3, generator=torch.Generator().manual_seed(100 * rank + step))
                optimizer.zero_grad()
                if kind == "accumulated":
                    with model.no_sync():
                        (0.1 * model(x).square().mean()).backward()
                model(x).square().mean().backward()
                optimizer.step()
                seen.append(net[0].weight.grad.clone())
    except RuntimeError as error:
        seen.append(str(error))
    dist.barrier()
    return seen, [p.detach() for p in net.parameters()], list(net.buffers())


def layouts(torch: Any, dist: Any, rank: int, options: dict[str, Any]) -> Any:
    """Parameters of several dtypes, memory orders and no elements: gradients with their strides, and buffers."""
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
            self.transposed, self.empty = nn.Parameter(torch.randn(5, 6).t()), nn.Parameter(torch.randn(0, 3))
            for dtype in ("float64", "bfloat16", "float16", "complex64"):
                self.register_parameter(dtype, nn.Parameter(torch.randn(3, dtype=getattr(torch, dtype))))
            self.register_buffer("numbers", torch.arange(3) + 5 * rank)
            self.register_buffer("mask", torch.tensor([True, rank == 1]))
            self.register_buffer("turned", (torch.ones(3, 2) * (rank + 1)).t())
            self.register_buffer("nothing", torch.zeros(0))

        def forward(self, x: Any) -> Any:
            others = self.float64.sum().float() + 2 * self.bfloat16.sum().float() + 3 * self.float16.sum().float()
            return (self.conv(x).square().sum() + (self.transposed ** 3).sum() + self.empty.sum()
                    + (others + (self.complex64 * self.complex64.conj()).real.sum()) * (rank + 1))

    torch.manual_seed(rank)
    model = part_of(torch, "nn.parallel").DistributedDataParallel(Net(), **options)
    x = torch.randn(2, 3, 5, 5, generator=torch.Generator().manual_seed(rank))
    for _ in range(3):
        model.zero_grad()
        model(x).backward()
    gradients = [torch.view_as_real(p.grad) if p.is_complex() else p.grad for p in model.parameters()]
    return gradients, [p.grad.stride() for p in model.parameters()], list(model.module.buffers())


def interrupted(torch: Any, dist: Any, rank: int) -> list[str]:
    """A backward that raises: what the next forward says in both ranks."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 1))
    model = part_of(torch, "nn.parallel").DistributedDataParallel(net, bucket_cap_mb=1e-6)
    out = model(torch.ones(2, 3)).sum()

    def fail(gradient):  # type: ignore[no-untyped-def]
        raise ValueError("stop")

    net[0].weight.register_hook(fail)
    with contextlib.suppress(ValueError):
        out.backward()
    try:
        model(torch.ones(2, 3))
    except RuntimeError as error:
        lines = str(error).splitlines()
        return [lines[0], *[line.partition(" In addition")[0] for line in lines if line.startswith("Parameter indices")]]
    return []


def refused(torch: Any, dist: Any, rank: int, what: str) -> Any:
    ddp = part_of(torch, "nn.parallel").DistributedDataParallel
    nn = torch.nn
    if what == "no parameters":
        ddp(nn.ReLU())
    elif what == "lazy":
        ddp(nn.LazyLinear(2))
    elif what == "devices":
        ddp(nn.Linear(2, 2), device_ids=[0], output_device=0)
    elif what in ("sizes", "dtype"):
        ddp(nn.Linear(3, 2 + rank) if what == "sizes" else nn.Linear(3, 2, dtype=torch.float64 if rank else torch.float32))
    elif what == "strides":
        ddp(nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last if rank else torch.contiguous_format))
    elif what == "hook":
        ddp(nn.Linear(2, 2)).register_comm_hook(None, 3)
    return None


def buffers(torch: Any, dist: Any, rank: int, is_broadcast: bool) -> Any:
    model = part_of(torch, "nn.parallel").DistributedDataParallel(torch.nn.BatchNorm1d(3), broadcast_buffers=is_broadcast)
    for step in range(3):
        model(torch.randn(4, 3, generator=torch.Generator().manual_seed(10 * rank + step))).sum().backward()
    return list(model.module.buffers()), sorted(model.state_dict())


def notes_of_unused(torch: Any, dist: Any, rank: int) -> list[str]:
    """What the error about parameters without a gradient says of each of them."""
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cut, self.last, self.never = (nn.Linear(3, 3) for _ in range(3))

        def forward(self, x: Any) -> Any:
            return self.last(self.cut(x).detach())

    model = part_of(torch, "nn.parallel").DistributedDataParallel(Net())
    loss = model(torch.ones(2, 3)).sum()  # its graph is kept: the causes are read from it
    loss.backward()
    try:
        model(torch.ones(2, 3))
    except RuntimeError as error:
        return [note.split(" in rank ")[0] + note.partition(":")[2] for note in error.__notes__]
    return []
