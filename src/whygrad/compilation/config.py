"""torch._dynamo.config: what of it makes a difference here."""

from __future__ import annotations

from typing import Any

# Programs of one function; further kinds of calls stay eager. Both names are torch's for it.
RECOMPILE_LIMIT = 8
# Of programs that differ in shapes alone, if nothing else is said.
SHAPES_LIMIT = 64
recompile_limit = cache_size_limit = RECOMPILE_LIMIT
# Whether `fullgraph=True` is only a wish.
suppress_errors = False


def current_limit() -> int:
    """The limit under the name by which the program has changed it."""
    return recompile_limit if recompile_limit != RECOMPILE_LIMIT else cache_size_limit


class patch:
    """Other values for a while: `with config.patch(recompile_limit=2)` or `@config.patch("recompile_limit", 2)`."""

    def __init__(self, *pairs: Any, **values: Any) -> None:
        self.values = {**(dict([pairs]) if len(pairs) == 2 else dict(*pairs)), **values}
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self.before.append({name: globals()[name] for name in self.values if name in globals()})
        globals().update(self.values)

    def __exit__(self, *exception: object) -> None:
        globals().update(self.before.pop())

    def __call__(self, function: Any) -> Any:
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return patched
