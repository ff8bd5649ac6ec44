"""The same answers for programs on real PyTorch: `import whygrad.for_torch as why`.

`why.on()` and `why.off()` start and end recording, `why(t)` and `why.explain(model)` answer a question, `with why.watch(model):`
answers what is surprising in a block, `why.assert_trains(model, loss, batch)` is for tests, `why.report(path)` writes a page.
PyTorch is imported by the first of them that is used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whygrad.for_torch.questions import explain as explain
    from whygrad.for_torch.recording import off as off
    from whygrad.for_torch.recording import on as on
    from whygrad.for_torch.recording import report as report
    from whygrad.for_torch.recording import watch as watch
    from whygrad.for_torch.training_check import assert_trains as assert_trains

# Public names, and the module of each.
_NAMES = {**dict.fromkeys(("on", "off", "watch", "report"), "recording"), "explain": "questions",
          "assert_trains": "training_check"}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if sys.modules.get("torch") is sys.modules["whygrad"]:
        raise RuntimeError("whygrad.for_torch explains programs on real PyTorch, but here `import torch` gives whygrad, which "
                           "explains itself: use whygrad.explain(), or whygrad run --engine torch")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})


class _CallableModule(ModuleType):
    """`why(t)` is `why.explain(t)`."""

    def __call__(self, t: Any, loss: Any = None) -> Any:
        return self.explain(t, loss)


sys.modules[__name__].__class__ = _CallableModule
