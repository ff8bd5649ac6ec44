"""torch.testing.make_tensor: the same seed gives the same values as in torch."""

import pytest
import torch

import whygrad
from whygrad.testing import make_tensor

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]
OPTIONS = [{}, {"low": 0, "high": 3}, {"noncontiguous": True}, {"exclude_zero": True}, {"low": -0.5, "high": 1.5}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype: str, options: dict) -> None:
    found = []
    for library, make in ((torch, torch.testing.make_tensor), (whygrad, make_tensor)):
        library.manual_seed(1)
        try:
            t = make((3, 4), dtype=getattr(library, dtype), device="cpu", **options)
            found.append((t.tolist(), str(t.dtype), t.stride()))
        except (ValueError, RuntimeError) as error:
            found.append((type(error), str(error).splitlines()[0]))
    assert found[0] == found[1]


@pytest.mark.parametrize("arguments", [{"low": 3, "high": 1}, {"low": float("nan")},
                                       {"low": 1e5, "high": 2e5, "dtype": "float16"},
                                       {"requires_grad": True, "dtype": "int32"}, {"low": 300, "high": 400, "dtype": "uint8"},
                                       {"noncontiguous": True, "memory_format": "contiguous_format"}], ids=str)
def test_refusals(arguments: dict) -> None:
    found = []
    for library, make in ((torch, torch.testing.make_tensor), (whygrad, make_tensor)):
        given = {"dtype": "float32", **arguments}
        options = {k: getattr(library, v) if isinstance(v, str) else v for k, v in given.items()}
        with pytest.raises(ValueError) as caught:
            make(2, 3, device="cpu", **options)
        found.append(str(caught.value))
    assert found[0] == found[1]
