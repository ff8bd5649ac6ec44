"""Sums over everything but the channels: the gradient of a convolution's bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from whygrad.kernels import host
from whygrad.kernels.conv import declined, in_one_piece
from whygrad.kernels.stages import ALONE, Stage, Task, plan_array, staged
from whygrad.kernels.tiles import lanes_within, load_some
from whygrad.kernels.values import F32

_whygrad_internal_ = True

# Vectors that are summed up side by side: one addition need not wait for the other, and errors stay small.
SIDE_BY_SIDE = 4
ALONE_BELOW = 32768


class Channels(NamedTuple):
    each: int
    shared: int
    channels: int
    alone: int
    images: int
    pixels: int


def channel_sum(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def channel_sum(x: Any) -> Any:
        if type(x) is not np.ndarray or x.dtype is not host.FLOAT32 or x.ndim < 3 or not x.size:
            return declined(numpy, x)
        return sums()(plan_for(x.shape), in_one_piece(x), np.empty(x.shape[1], np.float32))

    return channel_sum


@lru_cache(maxsize=512)
def plan_for(shape: tuple[int, ...]) -> Any:
    alone = ALONE if math.prod(shape) < ALONE_BELOW else 0
    return plan_array(Channels(0, 0, shape[1], alone, shape[0], math.prod(shape[2:])))


@cache
def sums() -> Any:
    def write(module: Any, name: str) -> list[Stage]:
        task = Task(module, f"{name}_channels", Channels._fields)
        _write(task)
        return [Stage(task, "channels", "alone")]

    return staged("channel_sum", "channel_sum", "ff", write)


def _write(f: Task) -> None:
    lanes = host.host().lanes
    channels, images, pixels = f.fields("channels images pixels")
    step = SIDE_BY_SIDE * lanes
    whole = pixels // step * step
    with f.loop(f.low, f.high) as channel:
        totals = [f.variable(f.zeros(F32, lanes)) for _ in range(SIDE_BY_SIDE)]
        with f.loop(0, images) as i:
            image = f.pointer(F32, f.array(0), (i * channels + channel) * pixels)
            with f.loop(0, whole, step) as j:
                for part, total in enumerate(totals):
                    total.add(f.load(F32, image, j + part * lanes, lanes))
            with f.loop(whole, pixels, lanes) as j:
                totals[0].add(load_some(f, image, j, lanes_within(f, j, pixels, lanes)))
        first, *rest = [total.get() for total in totals]
        for total in rest:
            first = first + total
        f.store(f.total(first), f.array(1), channel)
    f.end()
