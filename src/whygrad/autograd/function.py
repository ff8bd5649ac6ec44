"""Custom functions with a derivative of their own: `class Exp(Function)` with `forward` and `backward`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from whygrad.autograd.anomaly import keep_trace
from whygrad.autograd.function_node import BackwardCFunction, CustomNode, FunctionCtx
from whygrad.autograd.function_outputs import Outputs
from whygrad.autograd.grad_mode import no_grad
from whygrad.base import errors
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.node import port_of
from whygrad.core.tensor import Tensor, set_requires_grad, source, wrap
from whygrad.functional.error_node import Error
from whygrad.why import record as why

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


NO_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")


class FunctionMeta(type):
    """Makes the classes of ctx and node that go with a Function; both are called `<Class>Backward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        members = {"__slots__": (), "__module__": "torch.autograd.function"}
        cls._backward_cls: Any = type(f"{name}Backward", (BackwardCFunction,), {**members, "_forward_cls": cls})
        cls._node_cls: Any = type(f"{name}Backward", (CustomNode,), members)
        cls._generated: tuple[Any, Any] | None = None

    def _node_and_ctx_classes(cls) -> tuple[Any, Any]:
        """While torch.func computes a derivative, torch has other names for them."""
        if not (process_state.derivatives and grad_state.derivatives):
            return cls._node_cls, cls._backward_cls
        if cls._generated is None:
            name, members = f"{cls.__name__}GeneratedBackward", {"__slots__": (), "__module__": "torch.autograd.function"}
            cls._generated = type(name, (cls._node_cls,), members), type(name, (cls._backward_cls,), members)
        return cls._generated


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of functions with a derivative written by hand: define static `forward` and `backward`, call `apply`."""

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    _backward_cls: Any
    _node_cls: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
             "should invoke them on the class itself. Instantiating an autograd function will raise an error "
             "in a future version of PyTorch.", DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use "
                           "new-style autograd function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise errors.noted(NotImplementedError("You must implement either the backward or vjp method for your custom "
                                               "autograd.Function to use it with backward mode AD."),
                           "custom_without_backward", ctx._itself())

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def _separate_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _user_backward(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                               "should only implement one of them.")
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        separate = cls._separate_context()
        if grad_state.transforming and not separate:
            raise RuntimeError(NO_SETUP_CONTEXT)
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            if grad_state.transforming and separate:
                _refuse_keyword_only(kwargs)
            args = _as_positional(cls.forward, args, kwargs, 0 if separate else 1)
        if process_state.any_mode_active and grad_state.levels:
            return grad_state.levels[-1].dispatch_function(cls, args)
        return cls._recorded(args)[0]

    @classmethod
    def _recorded(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result, and the ctx it was made with."""
        separate = cls._separate_context()
        node_class, ctx_class = cls._node_and_ctx_classes()
        node = node_class(ctx_class, args)
        ctx = node.ctx
        if process_state.anomaly and node.recorded:
            keep_trace(node)
        if why.watching is not None:
            why.watching.applied_function(node, args)
        outer = grad_state.grad, grad_state.off_name, grad_state.off_site
        if outer[0]:
            # Explanations should name the Function as the reason why values made inside have no history.
            grad_state.grad, grad_state.off_name, grad_state.off_site = False, f"{cls.__name__}.forward", node.site
            refresh()
        try:
            if separate:
                raw = cls.forward(*args)
                cls.setup_context(ctx, args, raw)
            else:
                raw = cls.forward(ctx, *args)
        finally:
            if grad_state.grad is not outer[0]:
                grad_state.grad, grad_state.off_name, grad_state.off_site = outer
                refresh()
        if type(raw) is Tensor and node.recorded and raw._view is None and _is_ordinary(ctx, raw, args):
            # The usual case, and `Outputs` in a few lines: one fresh result.
            array = raw._array
            node.outputs = [(array.shape, array.dtype, True)]
            raw._node = node
            raw._indirect = False
            raw._cause = ()
            if ctx.to_save is not None:
                node.save((raw,))
            return raw, ctx
        several = isinstance(raw, tuple)
        results = Outputs(node, args).with_history(raw if several else (raw,))
        return results if several else results[0], ctx


def _refuse_keyword_only(kwargs: dict[str, Any]) -> None:
    """Raise for keyword-only arguments; torch's message depends on the innermost transform."""
    levels = grad_state.levels
    derivative_is_inside = bool(grad_state.derivatives) and grad_state.derivatives[-1].depth == len(levels)
    if not levels or derivative_is_inside or not levels[-1].is_batch:
        raise TypeError(f"custom_function_call_grad() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if any(isinstance(x, Tensor) for x in kwargs.values()):
        raise NotImplementedError("Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only "
                                  f"Tensors to autograd.Function. Got: {kwargs}")


def _is_ordinary(ctx: BackwardCFunction, raw: Tensor, args: tuple[Any, ...]) -> bool:
    """True for a fresh floating point result of which nothing special was said."""
    return (raw._array.dtype.kind == "f" and ctx.dirty_tensors is None and ctx.non_differentiable is None
            and not ctx._is_pure_view and not any(raw is a for a in args))


def _as_positional(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                   skip: int) -> tuple[Any, ...]:
    """Arguments by position: backward returns a gradient for each position. `skip` is 1 if ctx comes first."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(forward).parameters.values() if p.kind in kinds][skip:]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[:len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max([names.index(name) for name in kwargs])
    for position, name in enumerate(names[len(args):last + 1], len(args)):
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a `backward` that cannot be differentiated again: it runs unrecorded, and a second derivative raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not grad_state.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        results = _not_differentiable_again(several)
        return results if len(results) > 1 else results[0]

    return wrapper


def _not_differentiable_again(outputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    def edge_to_leaf(t: Tensor | None) -> Any:
        if t is None:
            return None
        result = wrap(t._array)
        set_requires_grad(result, True)
        return source(result)

    shapes = [None if t is None else (t._array.shape, t._array.dtype) for t in outputs]
    error = Error("trying to differentiate twice a function that was marked with @once_differentiable",
                  tuple([edge_to_leaf(t) for t in outputs]), shapes if len(outputs) > 1 else None)
    results: list[Tensor | None] = []
    for i, t in enumerate(outputs):
        result = None if t is None else wrap(t._array)
        if result is not None:
            result._node = port_of(error, i) if len(outputs) > 1 else error
        results.append(result)
    return tuple(results)


class InplaceFunction(Function):
    """Kept for old programs; use Function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
