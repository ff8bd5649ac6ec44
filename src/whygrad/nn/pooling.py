"""Pooling modules: each stores the arguments of the function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from whygrad.nn import functional as F
from whygrad.nn.from_function import REQUIRED, for_dims, module_class, shows, store
from whygrad.nn.module import Module

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
           "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


def _start(self: Any, **values: Any) -> None:
    if "stride" in values and values["stride"] is None:
        values["stride"] = values["kernel_size"]
    store(self, **values)


def _start_with_tuples(self: Any, **values: Any) -> None:
    """`AvgPool1d` stores its sizes as tuples."""
    _start(self, **values)
    for key in SHOWN:
        value = getattr(self, key)
        setattr(self, key, tuple(value) if isinstance(value, (tuple, list)) else (value,))


def _pool(name: str, function: str, forward: Callable[..., Any], shown: tuple[str, ...], parameters: dict[str, Any],
          start: Callable[..., None] = _start) -> Any:
    return module_class(name, __name__, getattr(F, function), forward, parameters, start=start, extra_repr=shows(*shown))


WINDOW: dict[str, Any] = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
SHOWN = ("kernel_size", "stride", "padding")
MAX: dict[str, Any] = {**WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False}
AVG: dict[str, Any] = {**WINDOW, "ceil_mode": False, "count_include_pad": True}
LP: dict[str, Any] = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}


def _max_pool(dims: int) -> Any:
    function = f"max_pool{dims}d"
    return _pool(f"MaxPool{dims}d", function, lambda self, input: getattr(F, function)(
        input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
        return_indices=self.return_indices), (*SHOWN, "dilation", "ceil_mode"), MAX)


def _avg_pool(dims: int) -> Any:
    function = f"avg_pool{dims}d"
    return _pool(f"AvgPool{dims}d", function, lambda self, input: getattr(F, function)(
        input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override),
        SHOWN, {**AVG, "divisor_override": None})


def _lp_pool(dims: int) -> Any:
    function = f"lp_pool{dims}d"
    return _pool(f"LPPool{dims}d", function, lambda self, input: getattr(F, function)(
        input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode), tuple(LP), LP, start=store)


def _adaptive_avg_pool(dims: int) -> Any:
    function = f"adaptive_avg_pool{dims}d"
    return _pool(f"AdaptiveAvgPool{dims}d", function, lambda self, input: getattr(F, function)(input, self.output_size),
                 ("output_size",), {"output_size": REQUIRED})


def _adaptive_max_pool(dims: int) -> Any:
    function = f"adaptive_max_pool{dims}d"
    return _pool(f"AdaptiveMaxPool{dims}d", function,
                 lambda self, input: getattr(F, function)(input, self.output_size, self.return_indices),
                 ("output_size",), {"output_size": REQUIRED, "return_indices": False})


MaxPool1d, MaxPool2d, MaxPool3d = [_max_pool(dims) for dims in (1, 2, 3)]
AvgPool1d = _pool("AvgPool1d", "avg_pool1d", lambda self, input: F.avg_pool1d(
    input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad), SHOWN, AVG, _start_with_tuples)
AvgPool2d, AvgPool3d = [_avg_pool(dims) for dims in (2, 3)]
LPPool1d, LPPool2d, LPPool3d = [_lp_pool(dims) for dims in (1, 2, 3)]
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = [_adaptive_avg_pool(dims) for dims in (1, 2, 3)]
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = [_adaptive_max_pool(dims) for dims in (1, 2, 3)]


class _MaxUnpool(Module):
    """Places values at the indices that a max pooling returned, zeros elsewhere."""

    dims: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sizes = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (
            tuple(size) if isinstance(size, (tuple, list)) else (size,) * self.dims for size in sizes)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        unpool = getattr(F, f"max_unpool{self.dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = for_dims(_MaxUnpool)


class _FractionalMaxPool(Module):
    """The maximum of each window, with random window positions."""

    dims: ClassVar[int]

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
                 _random_samples: Any = None) -> None:
        super().__init__()
        dims = self.dims
        name = type(self).__name__
        if dims == 3 and (min(kernel_size) if isinstance(kernel_size, (tuple, list)) else kernel_size) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size, self.output_size, self.output_ratio = (
            size if size is None or isinstance(size, (tuple, list)) else (size,) * dims
            for size in (kernel_size, output_size, output_ratio))
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            if output_size is None:
                raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Any) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.dims}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                    _random_samples=self._random_samples)


FractionalMaxPool2d, FractionalMaxPool3d = for_dims(_FractionalMaxPool, 2, 3)
