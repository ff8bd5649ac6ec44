"""The reference: names, arguments and the first paragraph of each docstring, read from the package itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
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
    rows = "\n".join(f"### `{name}{arguments}`\n\n{words}\n" for name, arguments, words in entries)
    return f"# {title}\n\n{text}\n\n{_letters([name for name, _, _ in entries])}\n\n{rows}"


def _letters(names: list[str]) -> str:
    """A line of links to the first name of each letter, or of each module if there are several; "" for a short page."""
    parts = [name.rpartition(".") for name in names]
    has_modules = len({module for module, _, _ in parts}) > 1
    first: dict[str, str] = {}
    for name, (module, _, word) in zip(names, parts, strict=True):
        first.setdefault(module if has_modules else word[0].upper(), name)
    links = [f"[{part}](#{anchor(name)})" for part, name in first.items()]
    return " · ".join(links) if len(names) > 20 else ""


def anchor(heading: str) -> str:
    """The address of a heading within its page."""
    return re.sub(r"[^\w]+", "-", heading.lower()).strip("-")


def _entries(address: str) -> Iterator[tuple[str, str, str]]:
    import whygrad
    from whygrad.base.door import SPECS

    for package in ("whygrad.functional", "whygrad.nn.functional"):  # modules that are imported when they are needed
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
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
            if page == address and part != "whygrad" and not name.rpartition(".")[2].startswith("_"):
                method = SPECS.get(f"Tensor.{name.rpartition('.')[2]}", spec)
                yield _entry(name, spec.plain, spec.plain.__doc__ or method.plain.__doc__)


def _escaped(words: str) -> str:
    """A docstring as Markdown: outside of `code` it has none."""
    parts = words.split("`")
    return "`".join([part if i % 2 else re.sub(r"[<>*_]", lambda found: f"\\{found[0]}", part) for i, part in enumerate(parts)])


def _entry(name: str, of: Any, docstring: str | None = None) -> tuple[str, str, str]:
    try:
        signature = inspect.signature(of)
        kept = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
        arguments = str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    except (TypeError, ValueError):
        arguments = "(...)"
    words = inspect.cleandoc(docstring or of.__doc__ or "").partition("\n\n")[0]
    return name, re.sub(r"<[^>]*>|\s+", " ", arguments).replace("`", ""), _escaped(words)
