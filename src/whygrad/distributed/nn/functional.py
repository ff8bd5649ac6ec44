"""Collectives as differentiable functions: the backward of each is another collective."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.autograd import Function
from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed import collectives
from whygrad.distributed.collectives import SUM
from whygrad.distributed.groups import get_rank, get_world_size


def _like(t: Tensor, *leading: int) -> Tensor:
    return wrap(np.zeros((*leading, *t._array.shape), t._array.dtype))


def _copy(t: Tensor) -> Tensor:
    return wrap(np.array(t._array, order="C"))


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = _copy(tensor)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _copy(tensor)
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, SUM, ctx.group, g)
        return None, None, total if get_rank() == ctx.src else _like(g)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = _copy(tensor)
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, g)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        results = [_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(results, tensor, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, _ReduceScatter.apply(SUM, ctx.group, *gs)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, *inputs: Tensor) -> Tensor:
        ctx.group = group
        result = _like(inputs[max(get_rank(group), 0)])
        collectives.reduce_scatter(result, list(inputs), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, *_AllGather.apply(ctx.group, g)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        results = [_like(tensor) for _ in range(get_world_size(group))]
        collectives.gather(tensor, results if get_rank() == dst else None, dst, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gs)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _like(tensors[0])
        collectives.scatter(result, list(tensors) if get_rank() == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, g)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.inputs = group, [_like(t) for t in tensors]
        results = [_like(t) for t in outputs]
        collectives.all_to_all(results, list(tensors), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.inputs, *gs)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Tensor, output_splits: Any, input_splits: Any, input: Tensor) -> Tensor:
        ctx.group, ctx.input, ctx.output_splits, ctx.input_splits = group, _like(input), output_splits, input_splits
        result = _like(output)
        collectives.all_to_all_single(result, input, output_splits, input_splits, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, ctx.input, ctx.input_splits, ctx.output_splits, g)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Any:
    """The tensor of rank `src`, in all ranks."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> Any:
    """The tensors of all ranks in rank `dst`, zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Any:
    """This rank's tensor of the list of rank `src`."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors, in rank `dst`."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = SUM, group: Any = None) -> Any:
    """This rank's part of the reduction of all ranks' lists."""
    return _ReduceScatter.apply(op, group, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> Any:
    """The tensors of all ranks."""
    return _AllGather.apply(group, tensor)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None) -> Any:
    """One tensor from each rank, for one to each."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: Any = None) -> Any:
    """The parts of `input` that all ranks have for this one."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors."""
    return _AllReduce.apply(op, group, tensor)
