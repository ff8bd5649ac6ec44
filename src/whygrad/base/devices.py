"""torch.device. Tensors are on the CPU, or on the meta device, where they have no values; any other raises with a note."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

# Make a device the default, and no longer: functional/meta.py registers them.
on_enter: Callable[[device], Any] = lambda place: None  # noqa: E731
on_exit: Callable[[], Any] = lambda: None  # noqa: E731

NEGATIVE_INDEX = "Device index must not be negative"
NO_ACCELERATOR = "Cannot access accelerator device when none is available."

_KNOWN = ("cpu", "cuda", "ipu", "xpu", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps",
          "meta", "hpu", "mtia", "privateuseone")
_DEVICE = re.compile(r"([a-zA-Z_]+)(:(0|[1-9]\d*))?")


class device:
    """torch.device: every device that torch knows can be named, but only the CPU and meta hold tensors."""

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError(NO_ACCELERATOR if type >= 0 else NEGATIVE_INDEX)
        elif not isinstance(type, str):
            raise TypeError(f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), "
                            "but expected one of:")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        parts = _DEVICE.fullmatch(type)
        if parts is None:
            raise RuntimeError(f"Invalid device string: '{type}'")
        name, colon, number = parts.groups()
        if name not in _KNOWN:
            raise RuntimeError(f"Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, "
                               f"xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device "
                               f"string: {name}")
        if colon and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if index is not None and index < 0:
            raise RuntimeError(NEGATIVE_INDEX)
        self.type = name
        self.index = int(number) if colon else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (str(self),)

    def __enter__(self) -> Self:
        on_enter(known_device(self))
        return self

    def __exit__(self, *exc: object) -> None:
        on_exit()


CPU, META = device("cpu"), device("meta")


class OnMeta(NotImplementedError):
    """Raised where a tensor on the meta device is asked for: the function door then makes it (see functional/meta.py)."""


class _Creating(threading.local):
    on_cpu = False


_creating = _Creating()


@contextmanager
def cpu_instead() -> Iterator[None]:
    """Take the meta device for the CPU."""
    _creating.on_cpu = True
    try:
        yield
    finally:
        _creating.on_cpu = False


def known_device(wanted: Any) -> device:
    """The device of this name, if it can hold tensors; None is the CPU."""
    if wanted is None or wanted is CPU:
        return CPU
    found = wanted if isinstance(wanted, device) else device(wanted)
    if found.type == "meta":
        return META
    if found.type != "cpu":
        raise unavailable(found)
    return CPU


def check_device(wanted: Any) -> device:
    """Accept None and the CPU under any of its names; raise for every other device."""
    if known_device(wanted) is META and not _creating.on_cpu:
        raise OnMeta("tensors on the meta device are not made by this function")
    return CPU


def unavailable(wanted: device) -> Exception:
    """The error torch raises for a device it was not built for, with a note that names the remedy."""
    error = (AssertionError(f"Torch not compiled with {wanted.type.upper()} enabled") if wanted.type in ("cuda", "xpu")
             else RuntimeError(f"PyTorch is not linked with support for {wanted.type} devices"))
    error.add_note(f"whygrad runs on the CPU only: cannot use device '{wanted}'. Use device='cpu', or test "
                   "torch.cuda.is_available(), which is False here.")
    return error
