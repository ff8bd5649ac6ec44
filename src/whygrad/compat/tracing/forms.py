"""Public functions of torch as ops of aten: the op's name and its arguments, where they are not the function's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from whygrad.base.door import Spec
from whygrad.base.torch_homes import is_in_python

Arguments = dict[str, Any]
Form = Callable[[Arguments], tuple[str, list[Any]]]


def _op(kind: str, names: str, *more: Any) -> Form:
    """An op whose arguments are these of the function, and constants."""
    return lambda given: (kind, [*[given[name] for name in names.split()], *more])


def _pair(x: Any, n: int) -> list[int]:
    return [x] * n if isinstance(x, int) else list(x) * (n if len(x) == 1 else 1)


def _convolution(n: int, transposed: bool) -> Form:
    def form(given: Arguments) -> tuple[str, list[Any]]:
        stride, dilation = _pair(given["stride"], n), _pair(given["dilation"], n)
        head = [given["input"], given["weight"], given["bias"], stride]
        if isinstance(given["padding"], str):
            return "_convolution_mode", [*head, given["padding"], dilation, given["groups"]]
        added = _pair(given.get("output_padding", 0), n)
        return "_convolution", [*head, _pair(given["padding"], n), dilation, transposed, added, given["groups"],
                                False, False, True, True]

    return form


def _resized(given: Arguments) -> tuple[str, list[Any]]:
    mode, n = given["mode"], given["input"].ndim - 2
    size, scale = [x if x is None or isinstance(x, (list, tuple)) else [x] * n for x in (given["size"], given["scale_factor"])]
    if mode == "area":
        return f"adaptive_avg_pool{n}d", [given["input"], size]
    corners = [] if mode.startswith("nearest") else [bool(given["align_corners"])]
    kind = f"{'_' if mode == 'nearest-exact' else ''}upsample_{mode.replace('-', '_')}{n}d"
    return kind, [given["input"], size, *corners, scale]


def _sampled(given: Arguments) -> tuple[str, list[Any]]:
    mode = ("bilinear", "nearest", "bicubic").index(given["mode"])
    padding = ("zeros", "border", "reflection").index(given["padding_mode"])
    return "grid_sampler", [given["input"], given["grid"], mode, padding, bool(given["align_corners"])]


def _dropped_channels(given: Arguments) -> tuple[str, list[Any]]:
    return "feature_dropout" + "_" * given["inplace"], [given["input"], given["p"], given["training"]]


_statistics = "input weight bias running_mean running_var"
FORMS: dict[str, Form] = {
    f"torch.nn.functional.{name}": form for name, form in {
        **{f"conv{n}d": _convolution(n, False) for n in (1, 2, 3)},
        **{f"conv_transpose{n}d": _convolution(n, True) for n in (1, 2, 3)},
        **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), _dropped_channels),
        "batch_norm": _op("batch_norm", f"{_statistics} training momentum eps", True),
        "instance_norm": _op("instance_norm", f"{_statistics} use_input_stats momentum eps", True),
        "layer_norm": _op("layer_norm", "input normalized_shape weight bias eps", True),
        "group_norm": _op("group_norm", "input num_groups weight bias eps", True),
        "embedding": _op("embedding", "weight input padding_idx scale_grad_by_freq sparse"),
        "softmax": _op("softmax", "input dim dtype"), "log_softmax": _op("log_softmax", "input dim dtype"),
        "cross_entropy": _op("cross_entropy_loss", "input target weight reduction ignore_index label_smoothing"),
        "nll_loss": _op("nll_loss_nd", "input target weight reduction ignore_index"),
        "unfold": _op("im2col", "input kernel_size dilation padding stride"),
        "scaled_dot_product_attention": lambda given: ("scaled_dot_product_attention", [
            *[given[name] for name in ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")], given.get("scale"),
            given["enable_gqa"]]),
        "interpolate": _resized, "grid_sample": _sampled,
    }.items()
}
# Names of aten where the public one is another.
_RENAMED = {"T.__get__": "numpy_T", "H.__get__": "matrix_H", "data.__get__": "detach", "fold": "col2im", "concat": "cat"}
# Functions of torch.nn.functional that are more than one op.
_COMPOSED = frozenset({"gaussian_nll_loss", "gumbel_softmax", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d",
                       "multi_head_attention_forward", "normalize", "softmin", "softsign", "tanhshrink",
                       "triplet_margin_with_distance_loss", "upsample"})
# Arguments that no op of aten has.
_NOT_PASSED = frozenset({"_stacklevel", "axis", "inplace", "keepdims", "memory_format", "out", "out_dtype", "reduce",
                         "return_indices", "size_average"})


def is_one_op(name: str) -> bool:
    """Whether a public function is one op in torch. Others are Python code that calls several."""
    space, _, function = name.rpartition(".")
    return function not in _COMPOSED if space == "torch.nn.functional" else not is_in_python(name)


def op_of(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, list[Any]]:
    """The op of a call, and its arguments."""
    given = _arguments(spec, args, kwargs)
    if spec.name in FORMS:
        return FORMS[spec.name](given)
    name = spec.name.removeprefix("torch.").removeprefix("nn.functional.").removeprefix("Tensor.").removeprefix("special.")
    name = _RENAMED.get(name, name.removesuffix(".__get__").replace(".", "_"))
    name = name.strip("_") if name.startswith("__") else name
    if given.get("return_indices"):
        name += "_with_indices"
    passed = [x for key, x in given.items() if key not in _NOT_PASSED and x is not Ellipsis]
    return name + "_" * (given.get("inplace") is True), passed


def _arguments(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """By name and in order, with defaults, but for keyword arguments that are None."""
    if spec.name == "torch.einsum":
        equation, *operands = args
        listed = len(operands) == 1 and isinstance(operands[0], (list, tuple))
        return {"equation": equation, "tensors": operands[0] if listed else operands, "path": None}
    bound = inspect.signature(spec.plain).bind(*args, **kwargs)
    bound.apply_defaults()
    given: Arguments = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(value)
        elif parameter.kind is parameter.VAR_POSITIONAL and not all(isinstance(x, int) for x in value):
            given.update({f"{name}{i}": x for i, x in enumerate(value)})
        elif parameter.kind is not parameter.KEYWORD_ONLY or value is not None:
            given[name] = value  # sizes that are given one by one are a list
    return given
