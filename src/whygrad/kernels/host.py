"""The machine under us: the processor, and where Python and NumPy keep what kernels read.

Nothing is assumed: the places inside an ndarray are tried out on real ones, and whatever is not as expected makes kernels
unavailable, not wrong.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import platform
import sys
from functools import cache
from typing import Any

import numpy as np

from whygrad.kernels import DATA
from whygrad.kernels.jit import Unavailable
from whygrad.kernels.linker import symbols

# Bytes from the start of an object to what kernels read (CPython with its global lock, 64 bits).
TYPE, NDIM, SHAPE, STRIDES, DTYPE, FLAGS = 8, 24, 32, 40, 56, 64
TUPLE_ITEMS, BYTES_DATA = 24, 32
OWNS_DATA = 0x4
ALIGNED, WRITEABLE = 0x100, 0x400
CONTIGUOUS_AND_ALIGNED = 0x1 | ALIGNED

# Places in NumPy's table of C functions; they never move.
ARRAY_TYPE, NEW_FROM_DESCR, SET_HANDLER = 2, 94, 304

FLOAT32, FLOAT64, BOOL, INT64 = np.dtype("f4"), np.dtype("f8"), np.dtype("?"), np.dtype("i8")
DTYPES = {"f4": FLOAT32, "f8": FLOAT64, "?": BOOL, "i8": INT64, "f2": np.dtype("f2")}


# Calls that ran compiled, and those that went on to NumPy or to the compiler. Written by the code itself.
counted = (ctypes.c_int64 * 2)()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(counted))  # also after this module is gone


@cache
def numpy_functions() -> Any:
    """NumPy's table of C functions, as addresses."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def check_layout() -> None:
    """Raise Unavailable unless objects lie in memory as the kernels expect."""
    if sys.implementation.name != "cpython" or "t" in getattr(sys, "abiflags", "") or sys.maxsize < 2 ** 62:
        raise Unavailable("kernels need CPython with its global lock, on 64 bits")
    if sys.byteorder != "little":
        raise Unavailable("kernels are written for little-endian processors")
    array = np.arange(24, dtype="f4").reshape(2, 3, 4)[:, ::2]
    whole = np.zeros((5, 7), "f4")

    def read(of: Any, place: int, kind: Any = ctypes.c_int64) -> int:
        return int(kind.from_address(id(of) + place).value)

    pair = (array, whole)
    shape = (ctypes.c_int64 * 3).from_address(read(array, SHAPE))
    strides = (ctypes.c_int64 * 3).from_address(read(array, STRIDES))
    as_expected = (
        numpy_functions()[ARRAY_TYPE] == id(np.ndarray) == read(array, TYPE)
        and read(b"12345678", BYTES_DATA) == int.from_bytes(b"12345678", "little")
        and read(pair, TUPLE_ITEMS) == id(array) and read(pair, TUPLE_ITEMS + 8) == id(whole)
        and read(array, DATA) == array.ctypes.data
        and read(array, NDIM, ctypes.c_int32) == 3
        and tuple(shape) == array.shape and tuple(strides) == array.strides
        and read(array, DTYPE) == id(FLOAT32) == read(whole, DTYPE)
        and not read(array, FLAGS, ctypes.c_int32) & 1
        and read(whole, FLAGS, ctypes.c_int32) & 0x7FF == CONTIGUOUS_AND_ALIGNED | WRITEABLE | OWNS_DATA)
    if not as_expected:
        raise Unavailable("NumPy's arrays lie in memory in an unknown way")


def check_memory() -> None:
    """May memory that was written to be executed? LLVM would end the process if not."""
    if sys.platform == "win32":
        return
    page = mmap.mmap(-1, mmap.PAGESIZE)
    held = ctypes.c_char.from_buffer(page)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    allowed = protect(ctypes.addressof(held), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) == 0
    del held
    page.close()
    if not allowed:
        raise Unavailable("the system does not allow code to be written and run")


class Host:
    """What kernels have to know of this processor."""

    def __init__(self) -> None:
        check_layout()
        compiler = importlib.util.find_spec("llvmlite")  # it is imported only if something has to be compiled
        if compiler is None or compiler.origin is None:
            raise Unavailable("llvmlite is not installed (pip install llvmlite)")
        check_memory()
        from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

        features = _multiarray_umath.__cpu_features__
        # float32 numbers in one register.
        self.lanes = 16 if features.get("AVX512F") else 8 if features.get("AVX2") else 4
        # Vector registers.
        self.registers = 32 if features.get("AVX512F") or platform.machine() in ("aarch64", "arm64") else 16
        # Everything about this machine on which compiled code depends.
        installed = f"{compiler.origin} {os.stat(compiler.origin).st_mtime_ns}"
        self.key = (*processor(), str(self.lanes), installed, np.__version__, sys.version)
        symbols.update({"whygrad_counted": ctypes.addressof(counted), "numpy_array_type": id(np.ndarray),
                        "numpy_new_from_descr": numpy_functions()[NEW_FROM_DESCR],
                        **{f"numpy_dtype_{code}".replace("?", "bool"): id(dtype) for code, dtype in DTYPES.items()}})


def processor() -> tuple[str, ...]:
    """Its model and features: as the system tells them, or as LLVM does, which takes longer to load."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first = file.read(8192).decode(errors="replace").split("\n\n")[0]
    except OSError:
        first = ""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    known = [line for line in first.splitlines() if line.partition("\t")[0] in wanted]
    if known:
        return platform.machine(), *known
    from llvmlite import binding

    return binding.get_default_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def host() -> Host:
    return Host()
