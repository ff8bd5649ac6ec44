"""Replacing functions of torch while a watch listens, and putting them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad.for_torch.tensor_facts import quietly
from whygrad.why.engine import Undo


def put(owner: Any, name: str, new: Any) -> Undo:
    """Set an attribute; what is returned restores what was there."""
    is_inherited = name not in vars(owner)
    old = None if is_inherited else vars(owner)[name]
    setattr(owner, name, new)

    def undo() -> None:
        if vars(owner).get(name) is not new:
            return  # somebody else has put something there since
        if is_inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, old)

    return undo


def listen(watch: Any, owner: Any, name: str, *, before: Callable[..., None] | None = None,
           after: Callable[..., None] | None = None) -> Undo:
    """Call `before(*args)` and `after(*args)` around a function. The watch keeps their errors, the program sees none of them."""
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def heard(*args: Any, **kwargs: Any) -> Any:
        if before is not None:
            with quietly():
                watch.guarded_call(name, before, *args)
        result = plain(*args, **kwargs)
        if after is not None:
            with quietly():
                watch.guarded_call(name, after, *args)
        return result

    return put(owner, name, heard)
