"""The collectives of torch.distributed, on nonblocking ones of MPI, in the memory of contiguous tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor
from whygrad.distributed import mpi
from whygrad.distributed.groups import ProcessGroup, member
from whygrad.distributed.ledger import BLOCKING
from whygrad.distributed.reduce_op import RedOpType, Reduction, reduction
from whygrad.distributed.work import Coalesced, Work

SUM = RedOpType.SUM


def check_tensor(value: Any, name: str) -> np.ndarray:
    """The array of an argument that must be a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
                        f"             but got {type(value)} instead.")
    if value._array.__class__ is not np.ndarray:
        raise NotImplementedError(f"torch.distributed for a tensor of layout {value.layout}")  # type: ignore[attr-defined]
    return value._array


def check_tensors(values: Any, name: str) -> list[np.ndarray]:
    if not isinstance(values, list):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
                        f"             but got {type(values)} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
                        f"             but got {type(values)} with elements of type {[type(value) for value in values]}.")
    return [check_tensor(value, name) for value in values]


def check_one_dtype(arrays: Sequence[np.ndarray], *tensors: Tensor) -> None:
    dtypes = [*[array.dtype for array in arrays], *[tensor._array.dtype for tensor in tensors]]
    for dtype in dtypes[1:]:
        if dtype != dtypes[0]:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {_name(dtypes[0])} and  {_name(dtype)}")


def _name(dtype: np.dtype[Any]) -> str:
    return f"torch.{dtype.name}"


def begin(group: ProcessGroup, call: tuple[Any, ...], start: Callable[[], Any], outputs: list[Any],
          finish: Callable[[], Any] | None = None, buffers: Any = None) -> Work:
    """Enter a collective in the ledger and start it."""
    entry = group.ledger.enter(call)
    return Work(start(), group.ledger, entry, call, group.seconds, finish, outputs, buffers)


def done(work: Any, async_op: bool) -> Any:
    if async_op:
        return work
    work.wait()
    return None


def octets(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array, for MPI to move."""
    return array.reshape(-1).view(np.uint8)


def root_of(group: ProcessGroup, function: str, rank: int | None, group_rank: int | None) -> int:
    """The rank within the group of the root, which is given as a global rank or as a rank of the group; 0 without both."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None:
        if rank is not None and rank not in group.ranks:
            raise RuntimeError(f"ProcessGroupMPI::{function}: invalid root rank: {rank}")
        return 0 if rank is None else group.rank_of(rank)
    if not 0 <= group_rank < group.size():
        raise RuntimeError(f"ProcessGroupMPI::{function}: invalid root rank: {group_rank}")
    return group_rank


def synchronize(group: ProcessGroup, call: tuple[Any, ...], seconds: float | None = None) -> None:
    """A barrier under another name."""
    work = begin(group, call, group.comm.Ibarrier, [])
    work.wait(None if seconds is None else timedelta(seconds=seconds))


# Reductions.


def all_reduce(tensor: Tensor, op: Any = SUM, group: Any = None, async_op: bool = False) -> Any:
    """Replace `tensor` in all ranks by the reduction of all of them."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "all_reduce")
    if found is None:
        return None
    how, ledger = reduction(op, array.dtype), found.ledger
    if async_op or not ledger.is_on_one_machine:
        return done(begin_all_reduce(found, array, how, [tensor]), async_op)
    buffer, finish = _reduced_in(array, how, found.size())
    call = "all_reduce", how.words, array.size
    entry = ledger.enter(call, BLOCKING)
    if ledger.all_block(entry, call, found.seconds):
        found.comm.Allreduce(mpi.in_place, how.memory(buffer), how.operation)
        if finish is not None:
            finish()
        return None
    request = found.comm.Iallreduce(mpi.in_place, how.memory(buffer), how.operation)
    return done(Work(request, ledger, entry, call, found.seconds, finish, [tensor], buffer), async_op)


def begin_all_reduce(group: ProcessGroup, array: np.ndarray, how: Reduction, outputs: list[Any]) -> Work:
    buffer, finish = _reduced_in(array, how, group.size())
    call = "all_reduce", how.words, array.size
    entry = group.ledger.enter(call)
    request = group.comm.Iallreduce(mpi.in_place, how.memory(buffer), how.operation)
    return Work(request, group.ledger, entry, call, group.seconds, finish, outputs, buffer)


def _reduced_in(array: np.ndarray, how: Reduction, size: int) -> tuple[np.ndarray, Callable[[], Any] | None]:
    """The buffer to reduce in, and what brings the result from there to `array`."""
    if array.flags.c_contiguous:
        return array, (lambda: how.average(array, size)) if how.is_average else None
    return _copied_back(array, np.array(array, order="C"), how, size)


def _result_in(array: np.ndarray, how: Reduction, size: int) -> tuple[np.ndarray, Callable[[], Any] | None]:
    """As `_reduced_in`, for a buffer that holds no operand."""
    if array.flags.c_contiguous:
        return _reduced_in(array, how, size)
    return _copied_back(array, np.empty(array.shape, array.dtype), how, size)


def _copied_back(array: np.ndarray, buffer: np.ndarray, how: Reduction, size: int) -> tuple[np.ndarray, Callable[[], Any]]:
    def finish() -> None:
        if how.is_average:
            how.average(buffer, size)
        array[...] = buffer

    return buffer, finish


def all_reduce_coalesced(tensors: Any, op: Any = SUM, group: Any = None, async_op: bool = False) -> Any:
    """all_reduce of several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    arrays = check_tensors(tensors, "tensor")
    check_one_dtype(arrays)
    return _coalesced([all_reduce(tensor, op, group, async_op=True) for tensor in tensors], async_op)


def _coalesced(works: list[Any], async_op: bool) -> Any:
    return None if None in works else done(Coalesced(works), async_op)


def reduce(tensor: Tensor, dst: int | None = None, op: Any = SUM, group: Any = None, async_op: bool = False,
           group_dst: int | None = None) -> Any:
    """Replace `tensor` in rank `dst` by the reduction of all ranks' tensors."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "reduce")
    if found is None:
        return None
    root, how = root_of(found, "reduce", dst, group_dst), reduction(op, array.dtype)
    buffer, finish = _reduced_in(array, how, found.size())
    is_root, memory = root == found.rank(), how.memory(buffer)

    def start() -> Any:
        return found.comm.Ireduce(mpi.in_place if is_root else memory, memory if is_root else None, how.operation, root)

    call = "reduce", how.words, array.size, f"dst={root}"
    return done(begin(found, call, start, [tensor], finish if is_root else None, buffer), async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce `input` of all ranks, and give each its part of it."""
    into, array = check_tensor(output, "output"), check_tensor(input, "input")
    found = member(group, "reduce_scatter_tensor")
    if found is None:
        return None
    if array.dtype != into.dtype:
        raise TypeError("input tensor must be the same type as the output tensor.")
    if array.size != into.size * found.size():
        raise ValueError("input tensor must be the same size as output size times world size")
    how = reduction(op, array.dtype)
    sent = how.memory(np.ascontiguousarray(array))
    buffer, finish = _result_in(into, how, found.size())
    call = "reduce_scatter", how.words, array.size
    work = begin(found, call, lambda: found.comm.Ireduce_scatter_block(sent, how.memory(buffer), op=how.operation), [output],
                 finish, (sent, buffer))
    return done(work, async_op)


def reduce_scatter(output: Tensor, input_list: Any, op: Any = SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce the lists of all ranks element by element; the i-th result goes to rank i."""
    into, arrays = check_tensor(output, "output"), check_tensors(input_list, "input_list")
    check_one_dtype(arrays, output)
    found = member(group, "reduce_scatter")
    if found is None:
        return None
    if len(arrays) != found.size():
        raise ValueError(f"ProcessGroupMPI::reduce_scatter: invalid input tensor list at index 0 (expected length "
                         f"{found.size()}, got {len(arrays)})")
    how = reduction(op, into.dtype)
    counts = [array.size for array in arrays]
    if counts[found.rank()] != into.size:
        raise ValueError("input tensor must be the same size as output size times world size")
    sent = how.memory(np.concatenate([np.ravel(array) for array in arrays]))
    buffer, finish = _result_in(into, how, found.size())
    call = "reduce_scatter", how.words, sent.size
    work = begin(found, call, lambda: found.comm.Ireduce_scatter(sent, how.memory(buffer), counts, how.operation), [output],
                 finish, (sent, buffer))
    return done(work, async_op)


# Movements.


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None) -> Any:
    """Give all ranks the values of rank `src`."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "broadcast")
    if found is None:
        return None
    root = root_of(found, "broadcast", src, group_src)
    buffer, finish = moved_in(array)
    call = "broadcast", array.dtype.name, array.size, f"src={root}"
    work = begin(found, call, lambda: found.comm.Ibcast(octets(buffer), root), [tensor],
                 finish if root != found.rank() else None, buffer)
    return done(work, async_op)


def moved_in(array: np.ndarray) -> tuple[np.ndarray, Callable[[], Any] | None]:
    """Contiguous memory with the values of `array`, and what writes it back."""
    if array.flags.c_contiguous:
        return array, None
    buffer = np.ascontiguousarray(array)
    return buffer, lambda: np.copyto(array, buffer)


def _check_list(function: str, arrays: list[np.ndarray], like: np.ndarray, size: int, what: str = "output") -> None:
    if len(arrays) != size:
        raise RuntimeError(f"ProcessGroupMPI::{function}: invalid {what} tensor list at index 0 (expected length {size}, "
                           f"got {len(arrays)})")
    for i, array in enumerate(arrays):
        if array.shape != like.shape:
            raise RuntimeError(f"ProcessGroupMPI::{function}: invalid tensor size at index {i} (expected {_sizes(like)}, "
                               f"got {_sizes(array)})")


def _sizes(array: np.ndarray) -> str:
    return f"({', '.join(map(str, array.shape))})"


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Give all ranks the tensors of all ranks, as a list."""
    outputs, array = check_tensors(tensor_list, "tensor_list"), check_tensor(tensor, "tensor")
    check_one_dtype(outputs, tensor)
    found = member(group, "all_gather")
    if found is None:
        return None
    _check_list("allgather", outputs, array, found.size())
    buffer = np.empty((found.size(), *array.shape), array.dtype)
    return done(_begin_all_gather(found, array, buffer, tensor_list, lambda: _hand_out(outputs, buffer)), async_op)


def _hand_out(outputs: Sequence[np.ndarray], parts: Any) -> None:
    for output, part in zip(outputs, parts, strict=True):
        output[...] = part


def _begin_all_gather(group: ProcessGroup, array: np.ndarray, buffer: np.ndarray, outputs: list[Any],
                      finish: Callable[[], Any] | None) -> Work:
    sent = octets(np.ascontiguousarray(array))
    call = "all_gather", array.dtype.name, array.size
    return begin(group, call, lambda: group.comm.Iallgather(sent, octets(buffer)), outputs, finish, (sent, buffer))


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Give all ranks the tensors of all ranks, one behind the other in one tensor."""
    into, array = check_tensor(output_tensor, "output_tensor"), check_tensor(input_tensor, "input_tensor")
    found = member(group, "all_gather_into_tensor")
    if found is None:
        return None
    if into.dtype != array.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if into.size != array.size * found.size():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    buffer, finish = moved_in(into)
    return done(_begin_all_gather(found, array, buffer, [output_tensor], finish), async_op)


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Any:
    """all_gather of several tensors."""
    check_tensors(input_tensor_list, "tensor_list")
    return _coalesced([all_gather(list(outputs), tensor, group, async_op=True)
                       for outputs, tensor in zip(output_tensor_lists, input_tensor_list, strict=True)], async_op)


def gather(tensor: Tensor, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False,
           group_dst: int | None = None) -> Any:
    """Give rank `dst` the tensors of all ranks, as a list."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "gather")
    if found is None:
        return None
    root = root_of(found, "gather", dst, group_dst)
    is_root = root == found.rank()
    if is_root != bool(gather_list):
        raise ValueError("Argument ``gather_list`` must be specified on destination rank." if is_root else
                         "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    outputs = check_tensors(gather_list, "gather_list") if is_root else []
    check_one_dtype(outputs, tensor)
    if is_root:
        _check_list("gather", outputs, array, found.size())
    sent = octets(np.ascontiguousarray(array))
    buffer = np.empty((found.size(), *array.shape), array.dtype) if is_root else None
    call = "gather", array.dtype.name, array.size, f"dst={root}"
    work = begin(found, call, lambda: found.comm.Igather(sent, None if buffer is None else octets(buffer), root),
                 gather_list if is_root else [], (lambda: _hand_out(outputs, buffer)) if is_root else None, (sent, buffer))
    return done(work, async_op)


def scatter(tensor: Tensor, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False,
            group_src: int | None = None) -> Any:
    """Give each rank its tensor of the list that rank `src` has."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "scatter")
    if found is None:
        return None
    root = root_of(found, "scatter", src, group_src)
    is_root = root == found.rank()
    if is_root != bool(scatter_list):
        raise ValueError("Argument ``scatter_list`` must be specified on source rank." if is_root else
                         "Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    inputs = check_tensors(scatter_list, "scatter_list") if is_root else []
    check_one_dtype(inputs, tensor)
    if is_root:
        _check_list("scatter", inputs, array, found.size(), "input")
    sent = octets(np.stack(inputs)) if is_root else None
    buffer, finish = moved_in(array)
    call = "scatter", array.dtype.name, array.size, f"src={root}"
    return done(begin(found, call, lambda: found.comm.Iscatter(sent, octets(buffer), root), [tensor], finish, (sent, buffer)),
                async_op)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: Any = None, async_op: bool = False) -> Any:
    """Send the i-th part of `input` to rank i; `output` holds the parts that came, in the order of the ranks."""
    into, array = check_tensor(output, "output"), check_tensor(input, "input")
    check_one_dtype([into], input)
    found = member(group, "all_to_all_single")
    if found is None:
        return None
    received = _split(into, output_split_sizes, found.size())
    sends = _split(array, input_split_sizes, found.size())
    sent = octets(np.ascontiguousarray(array))
    buffer, finish = moved_in(into)
    call = "all_to_all", array.dtype.name
    return done(begin(found, call, lambda: found.comm.Ialltoallv([sent, sends], [octets(buffer), received]), [output], finish,
                      (sent, buffer)), async_op)


def _split(array: np.ndarray, sizes: Any, parts: int) -> list[int]:
    """The bytes of each part along the first dimension."""
    length = array.shape[0] if array.ndim else 1
    row = array.nbytes // length if length else 0
    if not sizes:
        if length % parts:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return [length // parts * row] * parts
    if len(sizes) != parts:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return [size * row for size in sizes]


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Any:
    """Send the i-th tensor to rank i, and receive one from each."""
    outputs = check_tensors(output_tensor_list, "output_tensor_list")
    inputs = check_tensors(input_tensor_list, "input_tensor_list")
    check_one_dtype([*outputs, *inputs])
    found = member(group, "all_to_all")
    if found is None:
        return None
    for name, arrays in (("output", outputs), ("input", inputs)):
        if len(arrays) != found.size():
            raise RuntimeError(f"{name} tensor list must have one tensor for each of the {found.size()} ranks")
    sent = np.concatenate([octets(np.ascontiguousarray(array)) for array in inputs])
    counts = [array.nbytes for array in outputs]
    buffer = np.empty(sum(counts), np.uint8)

    def finish() -> None:
        begin = 0
        for output, count in zip(outputs, counts, strict=True):
            output[...] = buffer[begin:begin + count].view(output.dtype).reshape(output.shape)
            begin += count

    call = "all_to_all", outputs[0].dtype.name
    sends = [sent, [array.nbytes for array in inputs]]
    return done(begin(found, call, lambda: found.comm.Ialltoallv(sends, [buffer, counts]), output_tensor_list, finish,
                      (sent, buffer)), async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Any:
    """Wait until all ranks are here."""
    found = member(group, "barrier")
    if found is None:
        return None
    if timeout is not None and not async_op:
        return synchronize(found, ("barrier",), timeout.total_seconds())
    return done(begin(found, ("barrier",), found.comm.Ibarrier, []), async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier with a timeout of its own; who is missing is said in any case."""
    found = member(group, "monitored_barrier")
    if found is not None:
        synchronize(found, ("monitored_barrier",), found.seconds if timeout is None else timeout.total_seconds())
