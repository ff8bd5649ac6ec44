"""The older ways to tensors and their memory, against torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from calls import compare

import whygrad

BOTH = pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])


@BOTH
def test_new(lib: object) -> None:
    x = lib.ones(2, 3, dtype=lib.float64)
    assert x.new(4, 5).shape == (4, 5)
    assert x.new([1, 2]).tolist() == [1.0, 2.0]
    assert x.new([1, 2]).dtype is lib.float64
    assert x.new().shape == (0,)
    assert x.int().new(x.size()).dtype is lib.int32
    with pytest.raises(TypeError, match="data must be a sequence"):
        x.new(1.5)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@BOTH
def test_storage(lib: object) -> None:
    x = lib.arange(6.0).reshape(2, 3)
    memory = x[1].storage()
    assert (len(memory), memory.size(), memory[4], memory.dtype) == (6, 6, 4.0, lib.float32)
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert memory.data_ptr() == x.data_ptr()
    memory[0] = 9.0
    assert x[0, 0] == 9


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@BOTH
def test_set(lib: object) -> None:
    x, y = lib.arange(6.0), lib.zeros(2)
    assert y.set_(x) is y
    assert y.data_ptr() == x.data_ptr()
    y.set_(x.storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    y.set_()
    assert y.shape == (0,)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        lib.zeros(2, requires_grad=True).set_(x)


@pytest.mark.filterwarnings("ignore:.*set_default_tensor_type")
@BOTH
def test_default_tensor_type(lib: object) -> None:
    try:
        lib.set_default_tensor_type(lib.DoubleTensor)
        assert lib.ones(1).dtype is lib.float64
    finally:
        lib.set_default_tensor_type("torch.FloatTensor")
    assert lib.ones(1).dtype is lib.float32
    for wrong in ("torch.IntTensor", lib.float64, 3):
        with pytest.raises(TypeError, match="only floating-point types are supported"):
            lib.set_default_tensor_type(wrong)


SETUP = """
x = torch.arange(6.0).reshape(2, 3)
u = torch.UntypedStorage([1, 2, 3, 4])
f = torch.FloatStorage([1, 2])
"""

CALLS = """
    torch.UntypedStorage(2, 3)
    torch.UntypedStorage('a')
    torch.UntypedStorage([1.5])
    torch.UntypedStorage([300])
    torch.UntypedStorage(foo=3)
    torch.UntypedStorage().nbytes()
    u[5]
    u['a']
    u[1:3]
    u[0:4:2]
    u[-1]
    u.__setitem__(slice(0, 2), 9) or u
    u.__setitem__(slice(0, 4, 2), 3)
    u.__setitem__(7, 3)
    u.resize_(2)
    u.resize_(6).nbytes()
    u.resize_(-1)
    u.fill_(3)
    u.fill_(1.5)
    u.copy_(torch.UntypedStorage(2))
    u.copy_(torch.UntypedStorage([5, 6, 7, 8]))
    u.clone() == u, u == u
    copy.deepcopy([u, u])[0].tolist()
    u.new().nbytes(), u.type(), u.element_size(), u.filename, u.device, u.is_cuda, u.is_pinned(), u.is_shared()
    [cast() for cast in (u.float, u.bool, u.long, u.half, u.complex_float, u.bfloat16)]
    list(u), list(f), len(f)
    u.byteswap(torch.int16) or u
    f[0:1]
    f['a']
    f[2]
    f[-1]
    f.__setitem__(slice(0, 2), 7) or f
    f.__setitem__(0, f)
    f.double(), f.int(), f.bool()
    f.type(), f.dtype, f.element_size(), f.nbytes(), f.pickle_storage_type()
    f.fill_(2).clone()
    f.resize_(3) or len(f)
    f.copy_(torch.FloatStorage([3, 4]))
    copy.copy(f), copy.deepcopy(f)
    f + 1 if False else torch.is_storage(f), torch.is_storage(u), torch.is_storage(x)
    isinstance(x.storage(), torch.FloatStorage), isinstance(x.storage(), torch.DoubleStorage), isinstance(u, torch.ByteStorage)
    torch.FloatStorage(3.5)
    torch.FloatStorage(3, 4)
    torch.FloatStorage(3, dtype=torch.float64)
    torch.FloatStorage(3, device='cpu')
    torch.FloatStorage(wrap_storage=u)
    torch.FloatStorage(2, wrap_storage=u)
    torch.TypedStorage(wrap_storage=u, dtype=torch.int16)
    torch.TypedStorage(wrap_storage=u)
    torch.TypedStorage([1, 2], dtype=torch.int32)
    torch.Storage is torch.FloatStorage, torch.FloatStorage.dtype, x.storage_type() is torch.FloatStorage
    torch.UntypedStorage.from_buffer(b'abcd', byte_order='little', dtype=torch.uint8)
    torch.UntypedStorage.from_buffer(b'abcd', byte_order='bad', dtype=torch.int16)
    torch.UntypedStorage.from_buffer(b'abcd', byte_order='big', dtype=torch.float32)
    torch.UntypedStorage.from_buffer(b'abcd', dtype=torch.float32)
    torch.UntypedStorage.from_buffer(b'abcd')
    torch.UntypedStorage.from_buffer(b'', dtype=torch.uint8)
    torch.UntypedStorage.from_buffer(b'abcd', dtype=torch.uint8, count=9)
    torch.UntypedStorage.from_buffer(b'abcd', dtype=torch.uint8, offset=9)
    torch.UntypedStorage.from_buffer(b'abcd', dtype=torch.uint8, offset=1, count=2)
    torch.ShortStorage.from_buffer(b'abcdefg', 'big', offset=1)
    torch.FloatStorage.from_buffer(b'abc', 'native')
    torch.FloatStorage.from_buffer(b'abcd', 'native', dtype=torch.float32)
    x[1].untyped_storage() == x.untyped_storage(), x.untyped_storage() == x.clone().untyped_storage()
    torch.zeros(3).set_(torch.FloatStorage([1, 2, 3, 4]), 1, (3,), (1,))
    torch.zeros(3).set_(torch.FloatStorage([1, 2, 3, 4]), 2, (20, 2)).shape
    torch.zeros(3).set_(torch.UntypedStorage([0, 0, 128, 63]))
    torch.zeros(3).set_(torch.DoubleStorage(12))
    torch.zeros(3).set_(f, 2, (2, 2), (1, 1, 1))
    torch.zeros(3).set_(f, -2, (2, 2), (1, 1))
    torch.FloatTensor(f), torch.zeros(2).new(f), torch.tensor(f), torch.asarray(f)
    torch.FloatTensor(torch.DoubleStorage([1, 2]))
    torch.from_file('/nowhere/x', size=3)
"""


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_calls(call: str) -> None:
    compare(call, SETUP)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@BOTH
def test_memory_of_files(lib: object, tmp_path: Path) -> None:
    path = str(tmp_path / "x.bin")
    written = lib.from_file(path, shared=True, size=3, dtype=lib.int32)
    written.copy_(lib.tensor([1, 2, 3]))
    private = lib.from_file(path, shared=False, size=2, dtype=lib.int32)
    private[0] = 9
    assert (private.tolist(), lib.IntStorage.from_file(path, False, 3).tolist()) == ([9, 2], [1, 2, 3])
    assert lib.UntypedStorage.from_file(path, True, 4).filename == path
    assert lib.UntypedStorage.from_file(path, False, 4).filename is None
    assert (written.untyped_storage().filename, private.untyped_storage().filename) == (path, None)
    with pytest.raises(RuntimeError, match="size <12> is smaller than the required mapping size <16>"):
        lib.from_file(path, size=4, dtype=lib.int32)


@BOTH
def test_the_default_storage(lib: object) -> None:
    try:
        lib.set_default_dtype(lib.float64)
        assert lib.Storage is lib.DoubleStorage
    finally:
        lib.set_default_dtype(lib.float32)
    assert lib.Storage is lib.FloatStorage


def test_the_memory_of_tensors_is_not_reallocated() -> None:
    with pytest.raises(NotImplementedError, match=r"resize_"):
        whygrad.ones(2).untyped_storage().resize_(0)
