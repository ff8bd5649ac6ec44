"""The bilinear map."""

from __future__ import annotations

from typing import Any

from whygrad.core.record import apply
from whygrad.functional.run import nn_function
from whygrad.ops.table import TABLE


@nn_function()
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """x1 @ weight[o] @ x2 for each output o, plus bias."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i, (m, n) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {m} and {n}")
    for i, given in ((1, input1), (2, input2)):
        if given.shape[-1] != weight.shape[i]:
            raise RuntimeError(f"bilinear(): input{i} size does not match weight size: got {given.shape[-1]} but "
                               f"expected {weight.shape[i]}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
                           f"{weight.shape[0]}")
    flat1, flat2 = (x.reshape(-1, x.shape[-1]) for x in (input1, input2))
    product = apply(TABLE["trilinear"], flat1, weight, flat2, spec="ni,oij,nj->no")
    result = product.view(*input1.shape[:-1], weight.shape[0])
    return result if bias is None else result + bias
