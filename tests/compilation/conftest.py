"""No function stays eager because of an error of the compiler's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whygrad.compilation.function import CompiledFunction


@pytest.fixture(autouse=True, scope="session")
def no_internal_errors() -> Iterator[None]:
    reasons: list[str] = []
    give_up = CompiledFunction.give_up

    def noted(self: CompiledFunction, reason: str) -> None:
        reasons.append(reason)
        give_up(self, reason)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledFunction, "give_up", noted)
        yield
    assert not [reason for reason in reasons if "internal error" in reason]
