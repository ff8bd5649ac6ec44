"""torch.library: custom ops, called through their function or as `torch.ops.<namespace>.<name>`.

A fake implementation serves on the meta device. vmap rules are accepted and ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from whygrad.autograd.function import Function
from whygrad.base.unsupported import missing, unchanged
from whygrad.compat.schema import parse_schema
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump
from whygrad.functional.meta import is_meta

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "impl_abstract", "infer_schema",
           "opcheck", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap",
           "triton_op", "wrap_triton"]

OPS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A custom op. Its implementation runs unrecorded; `register_autograd` gives its derivative."""

    def __init__(self, qualname: str, implementation: Callable[..., Any] | None, mutates: Any = (),
                 signature: inspect.Signature | None = None) -> None:
        self._qualname = qualname
        self._namespace, _, self._name = qualname.partition("::")
        self._implementation = implementation
        # Those of Library.define have a signature and no derivative: their implementations are recorded.
        self._is_recorded = signature is not None
        self._signature = signature or inspect.signature(implementation)  # type: ignore[arg-type]
        self._mutates = tuple(mutates) if mutates != "unknown" else tuple(self._signature.parameters)
        self._rank = 0  # of the key of its implementation (see Library.impl)
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
        if self._is_recorded and self._backward is None:
            result = self.chosen(bound.args)(*bound.args, **bound.kwargs)
        else:
            result = self._function.apply(*bound.args)
        for name in self._mutates:
            if isinstance(changed := bound.arguments[name], Tensor):
                bump(changed)
        return result

    def chosen(self, inputs: Any) -> Callable[..., Any]:
        """The implementation for these inputs."""
        if any(isinstance(x, Tensor) and is_meta(x) for x in inputs):
            if self._fake is None:
                raise NotImplementedError(f"{self._qualname}: attempted to run this operator with Meta tensors, but there was no "
                                          "fake impl or Meta kernel registered; use register_fake to add one")
            return self._fake
        if self._implementation is None:
            raise NotImplementedError(f"Could not run '{self._qualname}' with arguments from the 'CPU' backend.")
        return self._implementation

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
        output = op.chosen(inputs)(*inputs)
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
        if device_types is not None and "cpu" not in device_types:
            made._signature, made._implementation = inspect.signature(function), None
        return made

    return make if fn is None else make(fn)


triton_op = custom_op


# Keys of torch's dispatcher that are served here. An implementation of a later one wins.
_SERVED = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CPU", "AutogradCPU", "Autograd")


class Library:
    """Ops made in two steps: `define` gives the signature, `impl` an implementation."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an op, as "name(Tensor x, int n=1) -> Tensor"; returns its name."""
        name, signature, mutated = parse_schema(schema)
        OPS[f"{self.ns}::{name}"] = CustomOpDef(f"{self.ns}::{name}", None, mutated, signature)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Register an implementation. Those for other devices are ignored."""
        name = op_name._qualname if isinstance(op_name, CustomOpDef) else str(op_name)
        name = name if "::" in name else f"{self.ns}::{name}"
        if name.startswith("aten::"):
            raise NotImplementedError(f"torch.library: whygrad has its own implementation of {name}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        op = OPS.get(name)
        if op is None or with_keyset:
            return
        if key == "Meta" or (key.startswith("Composite") and op._fake is None):
            op._fake = fn
        if key in _SERVED and _SERVED.index(key) >= op._rank:
            op._implementation, op._rank = fn, _SERVED.index(key)

    def _destroy(self) -> None:
        """The ops stay: nothing frees a namespace here."""


def define(qualname: str, schema: Any, *, lib: Any = None, tags: Any = ()) -> None:
    """Declare an op, as "namespace::name" and "(Tensor x) -> Tensor"."""
    namespace, _, name = qualname.partition("::")
    Library(namespace, "FRAGMENT").define(name + schema)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Register an implementation for these types of devices, or all ("default"); also `impl(library, name, key)`."""
    if isinstance(qualname, Library):
        library, name, keys = qualname, types, [func or ""]
        func = None
    else:
        namespace, _, name = qualname.partition("::")
        library = Library(namespace, "FRAGMENT")
        kinds = [types] if isinstance(types, str) else types
        keys = ["CompositeExplicitAutograd" if kind == "default" else kind.upper() for kind in kinds]

    def register(function: Callable[..., Any]) -> Any:
        for key in keys:
            library.impl(name, function, key)
        return function

    return register if func is None else register(func)


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
wrap_triton = missing("torch.library.wrap_triton")
fallthrough_kernel = missing("torch.library.fallthrough_kernel")
