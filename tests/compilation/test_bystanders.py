"""Handlers that stay at the function door for tensors of other kinds do not keep functions of plain tensors eager."""

from __future__ import annotations

import pytest

import whygrad as torch


class Subclass(torch.Tensor):
    pass


def doubled(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).sum()


def test_plain_tensors_are_compiled_beside_sparse_ones_and_subclasses() -> None:
    special = [torch.ones(3).as_subclass(Subclass), torch.ones(3).to_sparse()]
    compiled = torch.compile(doubled)
    x = torch.ones(3, requires_grad=True)
    for _ in range(4):
        compiled(x)
    before = compiled._compiled.calls["compiled"]
    assert before > 0
    assert type(compiled(special[0])) is Subclass
    with pytest.raises(AttributeError) if not hasattr(special[1], "sum") else torch.no_grad():
        assert compiled(special[1]).item() == 6
    assert compiled._compiled.calls["compiled"] == before


def test_a_mode_is_asked() -> None:
    heard = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            heard.append(func)
            return func(*args, **(kwargs or {}))

    compiled = torch.compile(doubled)
    x = torch.ones(3)
    for _ in range(4):
        compiled(x)
    assert not heard
    with Mode():
        compiled(x)
    assert len(heard) == 2
