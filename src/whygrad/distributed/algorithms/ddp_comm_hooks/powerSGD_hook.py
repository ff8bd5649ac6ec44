"""PowerSGD (Vogels, Karimireddy, Jaggi, 2019): gradients of matrices are sent as products of two thin ones.

A matrix M of n x m is approximated as P Q^T with a few columns: P = M Q is averaged and made orthogonal, Q = M^T P is averaged.
What the approximation lacks is added to the gradients of the next step (error feedback).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base.futures import Future
from whygrad.core.tensor import wrap
from whygrad.distributed import collectives
from whygrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from whygrad.distributed.groups import ProcessGroup, the_group
from whygrad.distributed.reducer import GradBucket


class PowerSGDState:
    """What is kept from step to step: errors, and the factors Q that the next step begins with."""

    def __init__(self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1000,
                 min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
                 orthogonalization_epsilon: float = 0, random_seed: int = 0, compression_stats_logging_frequency: int = 10_000,
                 batch_tensors_with_same_shape: bool = False) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because "
                             "PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, np.ndarray] = {}
        self.q_memory_dict: dict[tuple[int, int], np.ndarray] = {}
        self.iter = 0


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The approximated average of a bucket; the exact one before `start_powerSGD_iter`."""
    group = the_group(state.process_group)
    assert group is not None
    if state.iter < state.start_powerSGD_iter:
        _count(state, bucket)
        return default_hooks.allreduce_hook(group, bucket)
    flat, index = bucket.buffer()._array, bucket.index()
    if state.use_error_feedback and index in state.error_dict:
        flat += state.error_dict[index]
    before = flat.copy() if state.use_error_feedback else None
    matrices: list[tuple[int, np.ndarray, int]] = []
    rest: list[np.ndarray] = []
    for i, gradient in enumerate(bucket.gradients()):
        array = gradient._array
        matrix = array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(-1, 1)
        columns = min(*matrix.shape, state.matrix_approximation_rank)
        if sum(matrix.shape) * columns * state.min_compression_rate < matrix.size:
            matrices.append((i, matrix, columns))
        else:
            rest.append(array)
    if rest:
        _average(group, rest)
    factors = []
    for i, matrix, columns in matrices:
        q = state.q_memory_dict.get((index, i)) if state.warm_start else None
        if q is None:  # the same in all ranks
            q = state.rng.standard_normal((matrix.shape[1], columns)).astype(flat.dtype)
        factors.append((matrix, _orthogonal(q, state.orthogonalization_epsilon)))
    left = [matrix @ q for matrix, q in factors]
    if left:
        _average(group, left)
    left = [_orthogonal(p, state.orthogonalization_epsilon) for p in left]
    right = [matrix.T @ p for (matrix, _), p in zip(factors, left, strict=True)]
    if right:
        _average(group, right)
    for (i, matrix, _), p, q in zip(matrices, left, right, strict=True):
        state.q_memory_dict[index, i] = q
        np.matmul(p, q.T, out=matrix)
    if before is not None:
        state.error_dict[index] = before - flat
    _count(state, bucket)
    future: Future = Future()
    future.set_result(bucket.buffer())
    return future


def _count(state: PowerSGDState, bucket: GradBucket) -> None:
    if bucket.is_last():
        state.iter += 1


def _average(group: ProcessGroup, arrays: list[np.ndarray]) -> None:
    """Average all of these arrays over the ranks, in one message."""
    flat = np.concatenate([array.reshape(-1) for array in arrays])
    collectives.all_reduce(wrap(flat), group=group)
    flat /= group.size()
    begin = 0
    for array in arrays:
        array[...] = flat[begin:begin + array.size].reshape(array.shape)
        begin += array.size


def _orthogonal(matrix: np.ndarray, epsilon: float) -> np.ndarray:
    """The columns made orthonormal, one after the other (Gram-Schmidt)."""
    matrix = matrix.copy()
    for i in range(matrix.shape[1]):
        column = matrix[:, i]
        norm = np.linalg.norm(column)
        column /= norm + epsilon if norm + epsilon else 1
        matrix[:, i + 1:] -= np.outer(column, column @ matrix[:, i + 1:])
    return matrix
