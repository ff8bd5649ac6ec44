"""torch.library: custom ops, called through their function or as `torch.ops.<namespace>.<name>`.

A fake implementation serves on the meta device. vmap rules are accepted and ignored. `torch.ops.aten.<name>` is the public
function of that name, whichever overload is asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from whygrad.autograd.function import Function
from whygrad.base.unsupported import missing, unchanged
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump
from whygrad.functional.meta import is_meta
from whygrad.functional.run import FUNCTIONS, METHODS

__all__ = ["CustomOpDef", "custom_op", "impl_abstract", "register_autograd", "register_fake", "register_kernel", "triton_op"]

OPS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A custom op. Its implementation runs unrecorded; `register_autograd` gives its derivative."""

    def __init__(self, qualname: str, implementation: Callable[..., Any], mutates: Any = ()) -> None:
        self._qualname = qualname
        self._namespace, _, self._name = qualname.partition("::")
        self._implementation = implementation
        self._signature = inspect.signature(implementation)
        self._mutates = tuple(mutates) if mutates != "unknown" else tuple(self._signature.parameters)
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._function = _function_of(self)
        self.__name__, self.__doc__ = self._name, implementation.__doc__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self) -> CustomOpDef:
        """The default overload, which is the only one here."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._qualname}() {error}") from None
        bound.apply_defaults()
        result = self._function.apply(*bound.args)
        for name in self._mutates:
            if isinstance(changed := bound.arguments[name], Tensor):
                bump(changed)
        return result

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """`backward(ctx, *grads)` as in autograd.Function; `setup_context(ctx, inputs, output)` saves values for it."""
        self._backward, self._setup_context = backward, setup_context

    def register_kernel(self, device_types: Any, func: Any = None, /) -> Any:
        """Register the implementation for a type of device; the one for the CPU replaces the default."""
        kinds = [device_types] if isinstance(device_types, str) else device_types

        def replace(function: Any) -> Any:
            if kinds is None or "cpu" in kinds:
                self._implementation = function
            return function

        return replace if func is None else replace(func)

    def register_fake(self, abstract_impl: Any, /) -> Any:
        """Register what makes the result, without values, from tensors on the meta device."""
        self._fake = abstract_impl
        return abstract_impl

    def register_vmap(self, func: Any, /) -> Any:
        return func


def _function_of(op: CustomOpDef) -> Any:
    """The autograd.Function that runs the op."""
    def forward(ctx: Any, *inputs: Any) -> Any:
        on_meta = any(isinstance(x, Tensor) and is_meta(x) for x in inputs)
        if on_meta and op._fake is None:
            raise NotImplementedError(f"{op._qualname}: attempted to run this operator with Meta tensors, but there was no fake "
                                      "impl or Meta kernel registered; use register_fake to add one")
        output = (op._fake if on_meta and op._fake is not None else op._implementation)(*inputs)
        results = output if isinstance(output, (tuple, list)) else (output,)
        if any(result is x for result in results for x in inputs if isinstance(x, Tensor)):
            raise RuntimeError(f"{op._name}: The output of this custom operator (1) must not also be an input to this custom "
                               "operator and (2) may not alias any inputs to this custom operator or other returns. Please "
                               "instead return a clone of the offending output tensor(s) (e.g. return x.clone())")
        if op._setup_context is not None:
            op._setup_context(ctx, inputs, output)
        return output

    def backward(ctx: Any, *grads: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(f"Trying to backward through {op._namespace}.{op._name}.default but no autograd formula was "
                               "registered. Please use register_autograd to add one.")
        return op._backward(ctx, *grads)

    name = f"GeneratedBackwardFor_{op._namespace}_{op._name}_default"
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any = (), device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make a function a custom op; also usable as a decorator."""
    if "::" not in name:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', got {name!r}")

    def make(function: Callable[..., Any]) -> CustomOpDef:
        OPS[name] = made = CustomOpDef(name, function, mutates_args)
        return made

    return make if fn is None else make(fn)


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op in OPS:
        return OPS[op]
    namespace, _, name = op.partition("::")
    raise AttributeError(f"'_OpNamespace' {namespace!r} object has no attribute {name!r}")


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
                      lib: Any = None) -> None:
    _find(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    return _find(op).register_kernel(device_types, func)


def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
    """Register a fake implementation. Ops that do not exist are accepted: packages register them for optional compiled ops."""
    register = op.register_fake if isinstance(op, CustomOpDef) else OPS[op].register_fake if op in OPS else unchanged
    return register if func is None else register(func)


def register_vmap(op: Any, func: Any = None, /, **options: Any) -> Any:
    return unchanged if func is None else func


impl_abstract, register_torch_dispatch = register_fake, register_vmap
infer_schema = missing("torch.library.infer_schema")
opcheck = missing("torch.library.opcheck")
triton_op = missing("torch.library.triton_op")
wrap_triton = missing("torch.library.wrap_triton")
Library = missing("torch.library.Library")


class AtenOp:
    """torch.ops.aten.<name>, and each of its overloads."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = self._opname = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"

    def __eq__(self, other: object) -> bool:
        """Also the name in the counts of utils/flop_counter.py."""
        return str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def overloads(self) -> list[str]:
        return ["default"]

    def __getattr__(self, overload: str) -> AtenOp:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self


@functools.cache
def aten_op(name: str) -> Any:
    return AtenOp(name, FUNCTIONS.get(name) or METHODS.get(name) or missing(f"torch.ops.aten.{name}"))


class Namespace:
    """torch.ops.<namespace>"""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if self._name == "aten":
            return aten_op(name)
        found = OPS.get(f"{self._name}::{name}")
        if found is None and any(key.startswith(f"{self._name}::") for key in OPS):
            raise AttributeError(f"'_OpNamespace' {self._name!r} object has no attribute {name!r}")
        return found or missing(f"torch.ops.{self._name}.{name}")
