"""The older ways to tensors and their memory, against torch."""

from __future__ import annotations

import pytest
import torch

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
