"""DistributedDataParallel: its complaint that not every parameter got a gradient is explained."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch

from whygrad.for_torch import errors
from whygrad.for_torch.patches import put
from whygrad.for_torch.tensor_facts import quietly
from whygrad.why.engine import Undo


def explain_unfinished_reductions(watch: Any) -> list[Undo]:
    if not torch.distributed.is_available():
        return []
    wrapper_class = torch.nn.parallel.DistributedDataParallel
    plain, build = wrapper_class._pre_forward, wrapper_class._build_params_for_reducer
    counted: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(build)
    def _build_params_for_reducer(wrapper: Any) -> Any:
        found = build(wrapper)
        counted[wrapper] = list(found[0])
        return found

    @functools.wraps(plain)
    def _pre_forward(wrapper: Any, *inputs: Any, **kwargs: Any) -> Any:
        try:
            return plain(wrapper, *inputs, **kwargs)
        except RuntimeError as error:
            with quietly():
                watch.guarded_call("reduction", errors.explain_reduction, watch, error, wrapper, counted.get(wrapper))
            raise

    return [put(wrapper_class, "_pre_forward", _pre_forward),
            put(wrapper_class, "_build_params_for_reducer", _build_params_for_reducer)]
