"""Averaging as it is, or in 16 bits, which halves what goes over the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.futures import Future
from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed import collectives
from whygrad.distributed.groups import the_group
from whygrad.distributed.reducer import GradBucket

Hook = Callable[[Any, GradBucket], Future]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average of all ranks."""
    return _averaged(process_group, bucket.buffer())


def _averaged(process_group: Any, tensor: Tensor) -> Future:
    group = the_group(process_group)
    assert group is not None
    array = tensor._array
    np.divide(array, array.dtype.type(group.size()), out=array)
    return collectives.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda future: future.value()[0])


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    return fp16_compress_wrapper(allreduce_hook)(process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    return bf16_compress_wrapper(allreduce_hook)(process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """`hook` on gradients in float16."""
    return _compressing(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """`hook` on gradients in bfloat16."""
    return _compressing(hook, dtypes.bfloat16)


def _compressing(hook: Hook, dtype: dtypes.dtype) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future:
        whole = bucket.buffer()._array
        bucket.set_buffer(wrap(whole.astype(dtype.numpy)))

        def decompress(future: Future) -> Tensor:
            value = future.value()
            whole[...] = (value[0] if isinstance(value, list) else value)._array
            return wrap(whole)

        return hook(state, bucket).then(decompress)

    return compressed
