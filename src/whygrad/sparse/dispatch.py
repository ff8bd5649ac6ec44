"""The handler at the function door that dispatches on sparse arguments; added when the first sparse tensor can exist."""

from __future__ import annotations

from functools import partial
from typing import Any

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.sparse import functions, products
from whygrad.sparse.tensor import SparseTensor

# Methods of dense tensors that accept a sparse argument.
TAKE_SPARSE = ("add", "add_", "addmm", "matmul", "mm", "mul", "multiply", "sub", "sub_", "subtract", "copy_")


def _relu(input: Any, inplace: bool = False) -> Any:
    relu = functions.FUNCTIONS["relu"](input)
    return input.copy_(relu) if inplace else relu


_METHODS = functions.FUNCTIONS | functions.METHODS
_FOR = {
    **{f"{space}.{name}": function for name, function in functions.FUNCTIONS.items() for space in ("torch", "torch.special")},
    **{f"Tensor.{name}": _METHODS[name] for name in TAKE_SPARSE},
    "torch.nn.functional.linear": products.linear,
    "torch.nn.functional.relu": _relu,
    **dict.fromkeys(("torch.relu_", "Tensor.relu_"), partial(_relu, inplace=True)),
}


class Sparse:
    place = "sparse"

    def wants(self, spec: Spec) -> bool:
        return spec.name in _FOR

    def is_idle(self) -> bool:
        return True

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        for x in (*args[:3], *kwargs.values()):
            if type(x) is SparseTensor or (type(x) in (tuple, list) and x and type(x[0]) is SparseTensor):
                if kwargs.get("out") is not None:
                    raise NotImplementedError(f"{spec.name.rpartition('.')[2]}(): out= with sparse tensors")
                return _FOR[spec.name](*args, **{name: value for name, value in kwargs.items() if name != "out"})
        return next(args, kwargs)


for _name, _function in _METHODS.items():
    setattr(SparseTensor, _name, _function)
SparseTensor.T = property(functions.t)  # type: ignore[attr-defined]
SparseTensor.mT = property(lambda self: functions.transpose(self, -2, -1))  # type: ignore[attr-defined]
door.add(Sparse())
