"""Pooling modules: each keeps the arguments of the function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.made import REQUIRED, keep, module_of
from whygrad.nn.module import Module


def _shows(*names: str) -> Callable[[Any], str]:
    """An `extra_repr` of these attributes."""

    def extra_repr(self: Any) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    return extra_repr


def _start(self: Any, **values: Any) -> None:
    if "stride" in values and values["stride"] is None:
        values["stride"] = values["kernel_size"]
    keep(self, **values)


def _pool(name: str, function: Callable[..., Any], shows: tuple[str, ...], **parameters: Any) -> Any:
    return module_of(name, __name__, function, parameters, start=_start, extra_repr=_shows(*shows))


WINDOW: dict[str, Any] = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
SHOWN = ("kernel_size", "stride", "padding")
MAX: dict[str, Any] = {**WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False}

MaxPool1d = _pool("MaxPool1d", F.max_pool1d, (*SHOWN, "dilation", "ceil_mode"), **MAX)
MaxPool2d = _pool("MaxPool2d", F.max_pool2d, (*SHOWN, "dilation", "ceil_mode"), **MAX)
MaxPool3d = _pool("MaxPool3d", F.max_pool3d, (*SHOWN, "dilation", "ceil_mode"), **MAX)

AVG: dict[str, Any] = {**WINDOW, "ceil_mode": False, "count_include_pad": True}


def _to_tuples(self: Any, **values: Any) -> None:
    """`AvgPool1d` keeps its sizes as tuples."""
    _start(self, **values)
    for key in SHOWN:
        value = getattr(self, key)
        setattr(self, key, tuple(value) if isinstance(value, (tuple, list)) else (value,))


AvgPool1d = module_of("AvgPool1d", __name__, F.avg_pool1d, AVG, start=_to_tuples, extra_repr=_shows(*SHOWN))
AvgPool2d = _pool("AvgPool2d", F.avg_pool2d, SHOWN, **AVG, divisor_override=None)
AvgPool3d = _pool("AvgPool3d", F.avg_pool3d, SHOWN, **AVG, divisor_override=None)

LP: dict[str, Any] = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}


def _lp(name: str, function: Callable[..., Any]) -> Any:
    return module_of(name, __name__, function, LP, start=keep, extra_repr=_shows(*LP))


LPPool1d = _lp("LPPool1d", F.lp_pool1d)
LPPool2d = _lp("LPPool2d", F.lp_pool2d)
LPPool3d = _lp("LPPool3d", F.lp_pool3d)

AdaptiveAvgPool1d = _pool("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, ("output_size",), output_size=REQUIRED)
AdaptiveAvgPool2d = _pool("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, ("output_size",), output_size=REQUIRED)
AdaptiveAvgPool3d = _pool("AdaptiveAvgPool3d", F.adaptive_avg_pool3d, ("output_size",), output_size=REQUIRED)

ADAPTIVE_MAX: dict[str, Any] = {"output_size": REQUIRED, "return_indices": False}
AdaptiveMaxPool1d = _pool("AdaptiveMaxPool1d", F.adaptive_max_pool1d, ("output_size",), **ADAPTIVE_MAX)
AdaptiveMaxPool2d = _pool("AdaptiveMaxPool2d", F.adaptive_max_pool2d, ("output_size",), **ADAPTIVE_MAX)
AdaptiveMaxPool3d = _pool("AdaptiveMaxPool3d", F.adaptive_max_pool3d, ("output_size",), **ADAPTIVE_MAX)


class _MaxUnpool(Module):
    """Puts maxima back where a max pooling found them."""

    dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sizes = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (
            tuple(size) if isinstance(size, (tuple, list)) else (size,) * self.dims for size in sizes)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return UNPOOL[self.dims - 1](input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


UNPOOL = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)


class MaxUnpool1d(_MaxUnpool):
    dims = 1


class MaxUnpool2d(_MaxUnpool):
    dims = 2


class MaxUnpool3d(_MaxUnpool):
    dims = 3


class _FractionalMaxPool(Module):
    """The maximum of each window, the windows lying at random."""

    dims: int

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
        function = F.fractional_max_pool2d if self.dims == 2 else F.fractional_max_pool3d
        return function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                        self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    dims = 3
