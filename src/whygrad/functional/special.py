"""torch-named special functions. Those that torch has only in torch.special are in SPECIAL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional import run
from whygrad.functional.arguments import not_implemented, read_int, read_tensor, wrong_type
from whygrad.functional.dispatch import FLOATS, Takes, as_operand, default_float, unary
from whygrad.functional.inplace import check_castable
from whygrad.functional.promotion import cast, promote, result_dtype
from whygrad.functional.random import stream_of
from whygrad.ops.table import TABLE

NUMBERS = "biu" + FLOATS
SPECIAL: dict[str, Callable[..., Any]] = {}

unary("lgamma", to_float=True, takes=Takes(NUMBERS, "lgamma_vml_cpu"))
unary("digamma", to_float=True, takes=Takes(NUMBERS, "digamma"))
unary("erfinv", to_float=True, takes=Takes(NUMBERS, "erfinv_vml_cpu"))
unary("i0", to_float=True, takes=Takes(NUMBERS, "i0_vml_cpu"))


def _define_unary(name: str, kernel: str) -> None:
    takes = Takes(NUMBERS, kernel)

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        takes.check_tensor(f"special_{name}", input)
        result = apply(TABLE[name], cast(input, default_float(input.dtype).numpy))
        return run.with_out(f"special_{name}", result, out, input)  # type: ignore[no-any-return]

    SPECIAL[name] = run.special_function(name=name, doc=f"{name} of each element.")(function)


def _define_binary(row_name: str, name: str, kernel: str, numbers: bool) -> Callable[..., Any]:
    """A function of two tensors, one of which may be a number if `numbers`."""
    takes = Takes(NUMBERS if numbers else FLOATS, kernel)

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        operands = [as_operand(x) for x in (input, other)]
        for position, (argument, x) in enumerate((("input", operands[0]), ("other", operands[1])), 1):
            if not isinstance(x, Tensor) and (not numbers or x is NotImplemented):
                raise wrong_type(name, argument, position, "Tensor", (input, other)[position - 1])
        if not any(isinstance(x, Tensor) for x in operands):
            raise wrong_type(name, "input", 1, "Tensor", input)
        dtype = result_dtype(*operands)
        takes.check(dtype)
        result = apply(TABLE[row_name], *promote(name, *operands, dtype=default_float(dtype)))
        return run.with_out(name, result, out, *operands)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name.removeprefix("special_")
    function.__doc__ = f"{function.__name__} of two tensors, element by element."
    return function


def _in_place(row_name: str, name: str) -> Callable[..., Any]:
    def function(self: Tensor, other: Any) -> Tensor:
        read_tensor(f"{name}_", other, "other", 1)
        Takes(FLOATS, f"{name}_cpu").check(result_dtype(self, other))
        return run.write(row_name, self, self, other)  # type: ignore[no-any-return]

    return function


SPECIAL["zeta"] = run.special_function()(_define_binary("zeta", "special_zeta", "zeta_cpu", numbers=True))
SPECIAL["xlog1py"] = run.special_function()(_define_binary("xlog1py", "special_xlog1py", "xlog1py_cpu", numbers=True))
for _row, _name in (("gammainc", "igamma"), ("gammaincc", "igammac")):
    SPECIAL[_row] = run.special_function()(_define_binary(_row, f"special_{_row}", f"{_name}_cpu", numbers=False))
    run.public(name=_name)(_define_binary(_row, _name, f"{_name}_cpu", numbers=False))
    run.public(name=f"{_name}_", doc=f"In-place version of `{_name}`.", function=False)(_in_place(_row, _name))


def _order(n: Any, position: int) -> int:
    order = read_int("polygamma", "n", position, n)
    if order < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return order


def _polygamma_takes(order: int) -> Takes:
    return Takes(NUMBERS, ("digamma", "trigamma", "polygamma")[min(order, 2)])


@run.public(method=False)
def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """The n-th derivative of `digamma`."""
    order = _order(n, 1)
    _polygamma_takes(order).check_tensor("polygamma", input)
    result = apply(TABLE["polygamma"], cast(input, default_float(input.dtype).numpy), n=order)
    return run.with_out("polygamma", result, out, input)  # type: ignore[no-any-return]


def _polygamma_of_self(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`."""
    return polygamma(n, self)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """In-place version of `polygamma`."""
    order = _order(n, 1)
    _polygamma_takes(order).check_tensor("polygamma_", self)
    check_castable(default_float(self.dtype), self.dtype)
    return run.write("polygamma", self, self, n=order)  # type: ignore[no-any-return]


run.register("polygamma", _polygamma_of_self, function=False)
run.register("polygamma_", _polygamma_in_place, function=False)


@run.public()
def mvlgamma(input: Tensor, p: int, *, out: Any = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    read_tensor("mvlgamma", input)
    dimension = read_int("mvlgamma", "p", 2, p)
    if dimension < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input._array.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if input._array.dtype.kind == "c":
        raise not_implemented("arange_cpu", input.dtype)
    result = apply(TABLE["mvlgamma"], cast(input, default_float(input.dtype).numpy), p=dimension)
    return run.with_out("mvlgamma", result, out, input)  # type: ignore[no-any-return]


@run.public(function=False)
def mvlgamma_(self: Tensor, p: int) -> Tensor:
    check_castable(default_float(self.dtype), self.dtype)
    return self.copy_(mvlgamma(self.clone(), p))  # type: ignore[attr-defined, no-any-return]


# Samples that move with their parameter.

def _floating(function: str, kernel: str, *tensors: Any) -> None:
    for position, t in enumerate(tensors, 1):
        if not read_tensor(function, t, position=position).dtype.is_floating_point:
            raise not_implemented(kernel, t.dtype)


@run.public(method=False)
@run.made_under_transforms("random")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of scale 1, whose shapes `input` holds."""
    _floating("_standard_gamma", "gamma_cpu", input)
    values = stream_of("_standard_gamma", generator).standard_gamma(input._array)
    return apply(TABLE["standard_gamma"], input, values=values)  # type: ignore[no-any-return]


@run.public(method=False)
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """How such numbers, `output`, move with `input`."""
    _floating("_standard_gamma_grad", "_standard_gamma_grad_cpu", input, output)
    return apply(TABLE["standard_gamma_grad"], *promote("_standard_gamma_grad", input, output))  # type: ignore[no-any-return]


@run.made_under_transforms("random")
def sample_dirichlet(input: Tensor) -> Tensor:
    """Shares that sum to one along the last dim and move with their concentrations."""
    _floating("_sample_dirichlet", "dirichlet", input)
    values = stream_of("_sample_dirichlet", None).dirichlet(input._array)
    return apply(TABLE["dirichlet"], input, values=values)  # type: ignore[no-any-return]


@run.public(method=False)
@run.made_under_transforms("random")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Shares that sum to one along the last dim."""
    _floating("_sample_dirichlet", "dirichlet", input)
    values = stream_of("_sample_dirichlet", generator).dirichlet(input._array)
    return apply(TABLE["sampled_by_number"], input, values=values, name="_sample_dirichlet")  # type: ignore[no-any-return]


@run.public(method=False)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How a share `x` moves with its concentration, over 1 - x."""
    _floating("_dirichlet_grad", "_dirichlet_grad_cpu", x, alpha, total)
    return apply(TABLE["dirichlet_grad"], *promote("_dirichlet_grad", x, alpha, total))  # type: ignore[no-any-return]


# torch.special's own names for functions of the torch namespace.
for _name, _known in (("gammaln", "lgamma"), ("psi", "digamma"), ("multigammaln", "mvlgamma"), ("expit", "sigmoid")):
    SPECIAL[_name] = run.special_function(name=_name)(run.FUNCTIONS[_known])
for _declared in TABLE.values():
    if "special" in _declared.traits.public and _declared.name in run.FUNCTIONS:
        SPECIAL[_declared.name] = run.special_function(name=_declared.name)(run.FUNCTIONS[_declared.name])
    elif "special" in _declared.traits.public:
        _define_unary(_declared.name, "erfcx_vml_cpu" if _declared.name == "erfcx" else f"{_declared.name}_cpu")
