"""Single operations at the sizes of small networks. Each function gets the module (`torch` or `whygrad`) and returns the
operation as a function of its inputs, and the inputs; those that require grad get one in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Operation = tuple[Callable[..., Any], list[Any]]


def leaf(torch: Any, *shape: int) -> Any:
    return torch.randn(*shape).requires_grad_()


def conv2d(torch: Any) -> Operation:
    """A 3x3 convolution, 16 to 32 channels, of 8 images of 28x28."""
    return (lambda x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1),
            [leaf(torch, 8, 16, 28, 28), leaf(torch, 32, 16, 3, 3), leaf(torch, 32)])


def conv2d_strided(torch: Any) -> Operation:
    """5x5, stride 2, in two groups."""
    return (lambda x, w: torch.nn.functional.conv2d(x, w, stride=2, padding=2, groups=2),
            [leaf(torch, 8, 16, 32, 32), leaf(torch, 32, 8, 5, 5)])


def conv_transpose2d(torch: Any) -> Operation:
    return (lambda x, w: torch.nn.functional.conv_transpose2d(x, w, stride=2, padding=1),
            [leaf(torch, 8, 32, 14, 14), leaf(torch, 32, 16, 4, 4)])


def max_pool2d(torch: Any) -> Operation:
    return lambda x: torch.nn.functional.max_pool2d(x, 2), [leaf(torch, 8, 32, 28, 28)]


def max_pool2d_overlapping(torch: Any) -> Operation:
    return lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1), [leaf(torch, 8, 32, 28, 28)]


def avg_pool2d(torch: Any) -> Operation:
    return lambda x: torch.nn.functional.avg_pool2d(x, 2), [leaf(torch, 8, 32, 28, 28)]


def adaptive_avg_pool2d(torch: Any) -> Operation:
    return lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 7), [leaf(torch, 8, 32, 30, 30)]


def softmax(torch: Any) -> Operation:
    return lambda x: x.softmax(-1), [leaf(torch, 256, 512)]


def log_softmax(torch: Any) -> Operation:
    return lambda x: x.log_softmax(-1), [leaf(torch, 256, 512)]


def layer_norm(torch: Any) -> Operation:
    return (lambda x, w, b: torch.nn.functional.layer_norm(x, (512,), w, b),
            [leaf(torch, 256, 512), leaf(torch, 512), leaf(torch, 512)])


def batch_norm(torch: Any) -> Operation:
    return (lambda x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True),
            [leaf(torch, 16, 32, 14, 14), leaf(torch, 32), leaf(torch, 32)])


def cross_entropy(torch: Any) -> Operation:
    target = torch.randint(0, 1000, (256,))
    return lambda x: torch.nn.functional.cross_entropy(x, target), [leaf(torch, 256, 1000)]


def gather(torch: Any) -> Operation:
    index = torch.randint(0, 512, (256, 64))
    return lambda x: x.gather(1, index), [leaf(torch, 256, 512)]


def scatter_add(torch: Any) -> Operation:
    index = torch.randint(0, 64, (256, 512))
    return lambda x: torch.zeros(256, 64).scatter_add(1, index, x), [leaf(torch, 256, 512)]


def index_add(torch: Any) -> Operation:
    index = torch.randint(0, 100, (2000,))
    return lambda x: torch.zeros(100, 64).index_add(0, index, x), [leaf(torch, 2000, 64)]


def embedding(torch: Any) -> Operation:
    index = torch.randint(0, 1000, (32, 64))
    return lambda w: torch.nn.functional.embedding(index, w), [leaf(torch, 1000, 64)]


def masked(torch: Any) -> Operation:
    return lambda x: x[x > 0], [leaf(torch, 256, 512)]


def sort(torch: Any) -> Operation:
    return lambda x: x.sort(-1).values, [leaf(torch, 64, 1000)]


def topk(torch: Any) -> Operation:
    return lambda x: x.topk(10).values, [leaf(torch, 64, 1000)]


def cumsum(torch: Any) -> Operation:
    return lambda x: x.cumsum(-1), [leaf(torch, 256, 512)]


def cummax(torch: Any) -> Operation:
    return lambda x: x.cummax(-1).values, [leaf(torch, 256, 512)]


def einsum(torch: Any) -> Operation:
    return (lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), [leaf(torch, 8, 4, 64, 32), leaf(torch, 8, 4, 64, 32)])


def attention(torch: Any) -> Operation:
    return (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
            [leaf(torch, 8, 4, 64, 32) for _ in range(3)])


def cdist(torch: Any) -> Operation:
    return torch.cdist, [leaf(torch, 200, 16), leaf(torch, 300, 16)]


def gelu(torch: Any) -> Operation:
    return torch.nn.functional.gelu, [leaf(torch, 256, 512)]


def interpolate(torch: Any) -> Operation:
    return (lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
            [leaf(torch, 4, 16, 16, 16)])


def grid_sample(torch: Any) -> Operation:
    return (lambda x, grid: torch.nn.functional.grid_sample(x, grid.tanh(), align_corners=False),
            [leaf(torch, 4, 3, 32, 32), leaf(torch, 4, 32, 32, 2)])


def solve(torch: Any) -> Operation:
    eye = torch.eye(32) * 8
    return lambda a, b: torch.linalg.solve(a + eye, b), [leaf(torch, 32, 32), leaf(torch, 32, 4)]


def cat(torch: Any) -> Operation:
    return lambda a, b, c: torch.cat([a, b, c], 1), [leaf(torch, 64, 32) for _ in range(3)]


OPERATIONS: dict[str, Callable[[Any], Operation]] = {function.__name__: function for function in (
    conv2d, conv2d_strided, conv_transpose2d, max_pool2d, max_pool2d_overlapping, avg_pool2d, adaptive_avg_pool2d, softmax,
    log_softmax, layer_norm, batch_norm, cross_entropy, gather, scatter_add, index_add, embedding, masked, sort, topk, cumsum,
    cummax, einsum, attention, cdist, gelu, interpolate, grid_sample, solve, cat)}


def forward(torch: Any, name: str) -> Callable[[], Any]:
    torch.manual_seed(0)
    run, inputs = OPERATIONS[name](torch)
    return lambda: run(*inputs)


def backward(torch: Any, name: str) -> Callable[[], Any]:
    """The backward pass of a forward pass that was made once."""
    torch.manual_seed(0)
    run, inputs = OPERATIONS[name](torch)
    out = run(*inputs)
    gradient = torch.ones_like(out)
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


# As in benchmarks/workloads.py: name -> (workload, operations in one call).
WORKLOADS: dict[str, tuple[Callable[[Any], Callable[[], Any]], int]] = {
    f"{name} {direction.__name__}": (lambda torch, name=name, direction=direction: direction(torch, name), 1)
    for name in OPERATIONS for direction in (forward, backward)}
