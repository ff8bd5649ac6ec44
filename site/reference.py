"""The reference: names, arguments and the first paragraph of each docstring, read from the package itself."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

# What whygrad has and torch has not.
OWN = ("explain", "graph", "formula", "flow", "plot_flow", "memory_stats", "empty_cache")
HEADS = {
    "reference": ("Reference", """What whygrad adds to torch's names. The others are on the pages beside: functions, methods of a
tensor, layers, optimizers. They do what PyTorch 2.13 does; [what is not there](coverage.md) is listed."""),
    "reference/torch": ("torch: functions", ""),
    "reference/tensor": ("torch.Tensor: methods", ""),
    "reference/functional": ("torch.nn.functional, linalg, fft, special", ""),
    "reference/nn": ("torch.nn: layers", ""),
    "reference/optim": ("torch.optim: optimizers and schedules", ""),
}


def pages() -> dict[str, Any]:
    """The writer of each page, by its address."""
    return {address: lambda root, address=address: written(address) for address in HEADS}


def written(address: str) -> str:
    title, text = HEADS[address]
    entries = sorted(set(_entries(address)), key=lambda entry: entry[0].lower())
    rows = "\n".join(f"### {name}\n\n`{name}{arguments}`\n\n{words}\n" for name, arguments, words in entries)
    return f"# {title}\n\n{text}\n\n{rows}"


def _entries(address: str) -> Iterator[tuple[str, str, str]]:
    import whygrad
    from whygrad.base.door import SPECS

    if address == "reference":
        yield from (_entry(f"whygrad.{name}", getattr(whygrad, name)) for name in OWN)
        yield _entry("Tensor.why", whygrad.Tensor.why)
    elif address in ("reference/nn", "reference/optim"):
        for name in ("nn",) if address == "reference/nn" else ("optim", "optim.lr_scheduler"):
            module = importlib.import_module(f"whygrad.{name}")
            yield from (_entry(f"torch.{name}.{key}", value) for key, value in vars(module).items()
                        if isinstance(value, type) and not key.startswith("_") and value.__doc__)
    else:
        for name, spec in SPECS.items():
            part = name.rpartition(".")[0]
            page = {"torch": "reference/torch", "Tensor": "reference/tensor"}.get(part, "reference/functional")
            if page == address and not name.rpartition(".")[2].startswith("_"):
                yield _entry(name, spec.plain)


def _escaped(words: str) -> str:
    """A docstring as Markdown: outside of `code` it has none."""
    parts = words.split("`")
    return "`".join([part if i % 2 else re.sub(r"[<>*_]", lambda found: f"\\{found[0]}", part) for i, part in enumerate(parts)])


def _entry(name: str, of: Any) -> tuple[str, str, str]:
    try:
        signature = inspect.signature(of)
        kept = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
        arguments = str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    except (TypeError, ValueError):
        arguments = "(...)"
    words = inspect.cleandoc(of.__doc__ or "").partition("\n\n")[0]
    return name, re.sub(r"<[^>]*>|\s+", " ", arguments).replace("`", ""), _escaped(words)
