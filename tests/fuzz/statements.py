"""Random programs, a statement at a time: views, in-place writes, broadcasting, indexing, dtypes, `out=`, hooks, double backward.

A case is a list of statements over `torch` and variables v0, v1 ...; the first ones make the variables that every program
begins with. A program is made while torch runs it, so that dims and sizes mostly fit; where not, both must raise the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import torch

import whygrad

from . import artefacts
from .comparing import LIBRARIES, compare_values, default_float64, describe, execute, in_float64, memory, told

Program = list[str]

START = [
    "v0 = torch.tensor([[0.55, -0.92, -1.84], [-1.93, 1.25, 1.65]], dtype=torch.float64, requires_grad=True)",
    "v1 = torch.tensor([0.05, 1.80, -1.42], dtype=torch.float64, requires_grad=True)",
    "v2 = torch.tensor([[-0.95, -0.81, 1.26], [-1.63, 0.3, 0.9], [0.1, -0.2, 1.1]], dtype=torch.float64)",
    "v3 = torch.tensor(-1.66, dtype=torch.float64, requires_grad=True)",
    "v4 = torch.tensor([[[1.77, 0.04, -0.57]], [[1.9, -1.2, 0.33]]], dtype=torch.float32, requires_grad=True)",
    "v5 = torch.tensor([[1, 0, 2], [3, -1, 1]])",
]
MORE = [
    "v6 = torch.tensor([True, False, True])",
    "v6 = torch.tensor([[1.5 - 2j, 0.25j, -1.0]], dtype=torch.complex128, requires_grad=True)",
    "v6 = torch.tensor([[1.5, -0.25, 3.0]], dtype=torch.float16, requires_grad=True)",
    "v6 = torch.ones(0, 3, dtype=torch.float64, requires_grad=True)",
    "v6 = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4).requires_grad_()",
    "v6 = torch.arange(6, dtype=torch.int32)",
]

# {a}, {b}: variables; {n}: 0 to 4; {d}: a dim of {a}; {t}: a dtype; {k}: an index of {a}'s first dim; {c}: a new variable.
# What stands in the first tables raises errors with torch's texts; in the wider ones two things may be wrong at once, and only
# the classes of errors are compared.
ARITHMETIC = """
{a} + {b} | {a} - {b} | {a} * {b} | {a} / {b} | torch.add({a}, {b}, alpha={n}) | 1.5 - {a} | 2 / {a} | {a} * ({n} - 2.5)
{a} + {n}
{a} ** ({n} - 1) | {a}.square() | -{a} | {a}.abs() | {a}.sin() | {a}.cos() | {a}.tanh() | {a}.sigmoid() | ({a} * 0.1).exp()
{a}.abs().log1p() | ({a} * {a} + 1).sqrt() | {a}.relu() | torch.nn.functional.leaky_relu({a}, 0.1 * {n})
torch.nn.functional.gelu({a}) | {a}.clamp(-1, {n}) | torch.maximum({a}, {b}) | torch.minimum({a}, {b})
torch.where({a} > 1e-9, {a}, {b}) | torch.lerp({a}, {b}, 0.25 * {n}) | torch.addcmul({a}, {a}, {b}, value={n}) | {a}.round()
{a} > {b} | {a}.sum() | {a}.sum(dim={d}, keepdim={n} > 2) | {a}.mean() | {a}.mean({d}) | {a}.prod() | {a}.max()
{a}.max(dim={d})[{n} % 2] | {a}.amin(dim={d}) | {a}.argmax() | {a}.var(dim={d}, correction={n} % 2) | {a}.logsumexp(dim={d})
{a}.norm() | {a}.cumsum({d}) | {a}.softmax({d}) | torch.log_softmax({a}, {d}) | {a} @ {b} | torch.mm({a}, {b})
torch.outer({a}, {b})
"""
COPIES = """
{a}.reshape(-1) | {a}.flatten() | torch.cat([{a}, {b}, {a}], dim={d}) | torch.stack([{a}, {b}], dim={d}) | {a}[[0, {n}, 0]]
{a}[{a} > 1e-9] | {a}.flip({d}) | {a}.roll(1, {d}) | {a}.tril() | {a}.clone() | {a}.contiguous()
{a}.repeat(2, *([1] * {a}.dim()))
{a}.masked_fill({a} > 1e-9, 0.5) | {a}.gather(0, ({a} > 1e-9).long()) | {a}.index_select(0, torch.tensor([0, 0, 1]))
{a}.to(torch.float32) | {a}.double() | {a}.long() | torch.ones(2, 3, requires_grad={n} % 2 == 0)
"""
VIEWS = """
{a}.view(-1) | {a}.view(3, -1) | {a}.t() | {a}.transpose(0, -1) | {a}.permute(*range({a}.dim())[::-1]) | {a}.unsqueeze({d})
{a}.squeeze() | {a}.squeeze({d}) | {a}.expand(2, *{a}.shape) | {a}.expand_as({b}) | {a}.split(2, dim={d})[0]
{a}.chunk(2, dim={d})[-1] | {a}.unbind({d})[0] | {a}.narrow({d}, 0, 1) | {a}[{k}] | {a}[1:] | {a}[..., ::2] | {a}[0, 1:, None]
{a}[None] | {a}.diagonal() | {a}.detach() | {a}.data
"""
WRITES = """
{a}.add_({b}) | {a}.mul_({b}) | {a}.sub_({b}, alpha=2) | {a}.div_(2.0) | {a} += 1 | {a}.mul_({a}) | {a}.relu_() | {a}.tanh_()
{a}.zero_() | {a}.fill_({n}) | {a}.copy_({b}) | {a}.clamp_(min=0) | {a}[0] = {b} | {a}[1:] = {b} | {a}[..., 0] = float({n})
{a}[{a} > 0.5] = 0.25 | {a}[[0, -1]] = {b} | {a}.masked_fill_({a} > 1, 1.0)
"""
GRAPH = """
{a}.requires_grad_() | {a}.requires_grad_(False) | {a}.retain_grad() | {a}.register_hook(lambda g: g * 2)
{a}.register_hook(lambda g: None) | {a}.grad = None | {a}.backward() | {a}.backward({a}.detach() * 0 + 1)
{a}.backward({a}.detach() * 0 + 1, retain_graph=True) | {a}.backward({a}.detach() * 0 + 1, retain_graph=True, inputs=[{b}])
"""
DERIVATIVES = """
torch.autograd.grad({a}.sum(), {b}, allow_unused={n} % 2 == 0, retain_graph=True)[0].contiguous().clone()
torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0].contiguous().clone()
"""
BLOCKS = """
with torch.no_grad(): {c} = {a} * {b} | with torch.no_grad(): {c} = {a}[1:] | with torch.no_grad(): {a}.add_({b})
with torch.no_grad(), torch.enable_grad(): {c} = {a} * {b}
"""
WIDER_ARITHMETIC = """
({a} + 0.123).sign() | {a}.reciprocal() | torch.atan2({a}, {b}) | ({a} + 0.123).remainder(1.7) | ({a} + 0.123) // 2
torch.nn.functional.softplus({a}) | ({a} + 0.123).fmod(1.3) | torch.logaddexp({a}, {b}) | {a}.erf() | torch.hypot({a}, {b})
torch.nn.functional.elu({a}) | torch.nn.functional.hardtanh({a}) | ({a} > 0.01).logical_not() | torch.addcdiv({a}, {a}, {b} + 3)
{a}.std() | {a}.cumprod({d}) | {a}.median() | {a}.sort(dim={d})[0] | ({a} > 0.01).any() | ({a} > 0.01).all()
{a}.topk(1, dim={d})[0]
{a}.norm(p=1, dim={d}) | ({a} > 0.01).count_nonzero() | torch.nn.functional.layer_norm({a}, {a}.shape[-1:])
torch.dot({a}, {b}) | torch.nn.functional.linear({a}, {b})
torch.addmm({a}, {a}, {b}) | torch.bmm({a}, {b}) | torch.nn.functional.mse_loss({a}, {b})
torch.nn.functional.smooth_l1_loss({a}, {b}) | torch.cdist({a}, {b}) | torch.cross({a}, {b}, dim=-1)
"""
WIDER_COPIES = """
{a}.to({t}) | {a}.scatter_add({d}, torch.zeros_like({a}, dtype=torch.long), {a}) | {a}[torch.tensor([0, -1]), ..., [0, 1]]
{a}[..., torch.tensor([0, 0])] | {a}[{a} > 0.01, None] | {a}.index_add(0, torch.tensor([0]), {a}[:1])
torch.nn.functional.pad({a}, (1, {n}))
{a}.repeat_interleave(2, dim={d}) | torch.zeros_like({a}) | {a}.new_full((2,), {n}) | {a}.diag_embed()
torch.cat([{a}, {a}], {d})
{a}.triu({n} - 2) | {a}.rot90(1, [0, -1]) | {a}.take(torch.tensor([0])) | {a}.masked_select({a} > 0.01)
"""
WIDER_VIEWS = """
{a}[:, {n} - 2:] | {a}.select({d}, 0) | {a}.unfold({d}, 1, 1) | {a}.movedim(0, -1) | {a}.unflatten({d}, (1, -1))
{a}.view_as({a})
{a}.real | torch.view_as_real({a}) | {a}.mT | {a}.T | {a}.swapaxes(0, -1) | {a}.as_strided((2,), (1,)) | {a}.hsplit(1)[0]
{a}.tensor_split(2, dim={d})[0] | {a}[...] | {a}[()] | {a}.conj() | {a}.imag | {a}.expand(3, *[-1] * {a}.dim())
{a}.broadcast_to(2, *{a}.shape) | {a}[::2] | {a}[..., -1:]
"""
WIDER_WRITES = """
{a}.neg_() | {a}.exp_() | {a}.sigmoid_() | {a}.addcmul_({a}, {b}, value=0.5) | {a}.t_() | {a}.unsqueeze_({d}) | {a}.squeeze_()
{a}.transpose_(0, -1) | {a}.index_fill_(0, torch.tensor([0]), {n}) | {a}.lerp_({b}, 0.5) | {a}.abs_() | {a}.sqrt_()
{a}.scatter_(0, torch.zeros_like({a}, dtype=torch.long)[:1], {n}) | {a}.pow_(2) | {a}.cumsum_({d}) | {a}[:, 0].mul_(2)
{a}[1:].copy_({b}) | {a}.view(-1)[0] = {n} | {a}[..., ::2] += 1 | {a}.index_add_(0, torch.tensor([0]), {b}) | {a}.tril_()
{a}.diagonal().fill_({n}) | {a}.index_put_((torch.tensor([0, 0]),), {b}, accumulate=True) | {a}.fill_diagonal_({n})
{a}[None, 0] = {b}
"""
OUT = """
torch.add({a}, {b}, out={c}) | torch.mul({a}, {b}, out={c}) | torch.sin({a}, out={c})
torch.cat([{a}, {b}], out={c}) | torch.clamp({a}, 0, 1, out={c}) | torch.max({a}, {b}, out={c})
torch.neg({a}, out={c}) | torch.matmul({a}, {b}, out={c}) | torch.mean({a}, -1, out={c})
torch.stack([{a}, {a}], out={c}) | torch.cumsum({a}, 0, out={c})
torch.where({a} > 0.01, {a}, {b}, out={c}) | torch.pow({a}, 2, out={c})
"""
WIDER_GRAPH = """
{a}.register_hook(lambda g: log.append((1, g.sum().item()))) | {a}.grad = torch.ones_like({a}) | {a}.detach_() | {a}.grad.zero_()
{a}.register_post_accumulate_grad_hook(lambda p: log.append((2, tuple(p.shape)))) | {a}.sum().backward(create_graph=True)
{a}.grad_fn.register_hook(lambda gi, go: log.append((3, len(gi), len(go))))
{a}.grad_fn.register_prehook(lambda go: log.append((4, len(go))))
"""
WIDER_DERIVATIVES = """
torch.autograd.grad({a}, {b}, torch.ones_like({a}), create_graph=True, materialize_grads=True)[0].contiguous().clone()
{a}.grad.clone() | torch.autograd.functional.vjp(lambda x: (x * x).sum(), {a})[1].clone()
"""
WIDER_BLOCKS = """
with torch.set_grad_enabled(False): {c} = {a}.view(-1)
"""


def table(text: str) -> list[str]:
    return [entry.strip() for line in text.strip().splitlines() for entry in line.split(" | ")]


Tables = list[tuple[list[str], int, bool]]

# Tables, how often they are chosen from, and whether the result becomes a new variable.
PLAIN: Tables = [(table(ARITHMETIC), 30, True), (table(COPIES), 12, True), (table(VIEWS), 16, True), (table(WRITES), 16, False),
                 (table(GRAPH), 12, False), (table(DERIVATIVES), 5, True), (table(BLOCKS), 3, False)]
MEMORY: Tables = [(table(WIDER_ARITHMETIC), 6, True), (table(WIDER_COPIES), 8, True), (table(WIDER_VIEWS), 14, True),
                  (table(WIDER_WRITES), 10, False), (table(OUT), 4, False), (table(WIDER_BLOCKS), 3, False)]
WIDER: Tables = [*PLAIN, *MEMORY, (table(WIDER_GRAPH), 6, False), (table(WIDER_DERIVATIVES), 3, True)]
DTYPES = ["torch.float64", "torch.float32", "torch.int64", "torch.bool", "torch.complex128", "torch.float16", "torch.int32",
          "torch.uint8"]


class Statements:
    """`texts`: errors have torch's first line, not only its class. `memory`: strides and sharing are compared too."""

    def __init__(self, name: str, tables: Tables, *, texts: bool = False, memory: bool = False) -> None:
        self.name = name
        self.tables = tables
        self.texts = texts
        self.memory = memory

    def make(self, choose: random.Random) -> Program:
        program = [*START] if self.texts else [*START, choose.choice(MORE)]
        names = _names(torch)
        for line in program:
            execute(line, names)
        weights = [weight for _, weight, _ in self.tables]
        for _ in range(choose.randint(3, 25)):
            table, _, makes = choose.choices(self.tables, weights)[0]
            statement = _filled(choose, choose.choice(table), makes, names)
            if artefacts.avoided(statement, names) is None:
                execute(statement, names)
                program.append(statement)
                for t in [t for t in names.values() if isinstance(t, torch.Tensor)]:
                    describe(t)  # see artefacts: "hook of a view"
        return program

    def problem(self, program: Program) -> str | None:
        found = self._difference(program)
        if found is not None and found.endswith(("rounding", "other values")):
            with default_float64():
                return self._difference([in_float64(line) for line in program])
        return found

    def _difference(self, program: Program) -> str | None:
        theirs, ours = (_names(library) for library in LIBRARIES)
        for statement in program:
            if artefacts.avoided(statement, theirs) is not None:
                continue
            a, b = (execute(statement, names) for names in (theirs, ours))
            if isinstance(a, NameError) or isinstance(b, NameError):
                continue  # of a program that was made smaller
            if not artefacts.same_error(a, b, self.texts, statement, ours):
                return f"{statement}: torch gives {told(a)}, we give {told(b)}"
            if a is not None and ("out=" in statement or "INTERNAL ASSERT" in str(a)):
                return None  # torch may have resized it before it refused, or have written half
            if difference := self._compare(theirs, ours):
                return f"{statement}: {difference}"
        if _close(theirs["log"], ours["log"]):
            return None
        same_hooks = [entry[0] for entry in theirs["log"]] == [entry[0] for entry in ours["log"]]
        return "hooks got other values" if same_hooks else "hooks ran otherwise"

    def _compare(self, theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
        tensors = {name: (t, ours.get(name)) for name, t in theirs.items() if isinstance(t, torch.Tensor)}
        for name, (x, y) in tensors.items():
            if not isinstance(y, whygrad.Tensor):
                return f"{name} is a tensor, here it is a {type(y).__name__}"
            if (a := describe(x)) != (b := describe(y)):
                return f"{name} is {a}, here it is {b}"
            if difference := compare_values(x, y):
                return f"{name}: {difference}"
            if difference := compare_values(_grad(x), _grad(y)):
                return f"{name}.grad: {difference}"
            if self.memory and x.numel() and memory(x) != memory(y):  # NumPy keeps no offset for nothing
                return f"{name} lies in memory as {memory(x)}, here as {memory(y)}"
        if self.memory and (a := _sharing([x for x, _ in tensors.values()])) != (b := _sharing([y for _, y in tensors.values()])):
            return f"share memory: {a}, here: {b}"
        return None

    def smaller(self, program: Program) -> Iterable[Program]:
        size = len(program) // 2
        while size:
            for start in range(len(program) - size, -1, -1):
                yield program[:start] + program[start + size:]
            size //= 2

    def script(self, program: Program) -> str:
        return "\n".join(["import torch  # or: import whygrad as torch", "log = []", *program, ""])


def _names(library: Any) -> dict[str, Any]:
    return {"torch": library, "log": []}


def _filled(choose: random.Random, template: str, makes: bool, names: dict[str, Any]) -> str:
    variables = [name for name, value in names.items() if isinstance(value, torch.Tensor)]
    recent = variables[-6:] if choose.random() < 0.5 else variables
    a, b = choose.choice(recent), choose.choice(variables)
    new = f"v{len(variables)}"
    dims = names[a].dim()
    c = new if "{c} =" in template else choose.choice(variables)
    text = template.format(a=a, b=b, c=c, n=choose.randint(0, 4), d=choose.randrange(-dims, dims) if dims else 0,
                           t=choose.choice(DTYPES), k=choose.randint(-2, 2))
    return f"{new} = {text}" if makes else text


def _grad(t: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.grad


def _close(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        len(x) == len(y) and all(p == q or (isinstance(p, float) and abs(p - q) <= 1e-6 * max(abs(p), 1)) or p != p
                                 for p, q in zip(x, y, strict=True)) for x, y in zip(a, b, strict=True))


def _sharing(tensors: list[Any]) -> list[int]:
    """For each tensor, the number of the first one with the same memory."""
    storages = [t.untyped_storage().data_ptr() if t.numel() else -i - 1 for i, t in enumerate(tensors)]
    return [storages.index(storage) for storage in storages]


KIND = Statements("statements", WIDER)
