"""`%load_ext whygrad`: a notebook on PyTorch is recorded, `%%why` answers for a cell, `%why t` for a tensor or a model."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import suppress
from typing import Any

from whygrad.why import cells

# A cell after which the notebook is one on PyTorch.
_IMPORTS = re.compile(r"^\s*(import|from)\s+(torch\w*|lightning|pytorch_lightning|transformers|accelerate)\b", re.MULTILINE)

# Whether the extension has started recording, and not the user by why.on().
_has_started = False


def load_ipython_extension(shell: Any) -> None:
    """Recording starts at once if torch is loaded, or else before the first cell that imports it."""
    cells.load_ipython_extension(shell)
    if not _has_torch():
        return
    shell.register_magic_function(_why, "line_cell", "why")
    shell.events.register("pre_run_cell", _before_cell)
    if "torch" in sys.modules:
        _start()


def unload_ipython_extension(shell: Any) -> None:
    global _has_started
    cells.unload_ipython_extension(shell)
    with suppress(ValueError, AttributeError):  # it was not loaded, or there is no torch
        shell.events.unregister("pre_run_cell", _before_cell)
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("why", None)
    if _has_started:
        from whygrad.for_torch.recording import off

        off()
        _has_started = False


def _has_torch() -> bool:
    """Whether `import torch` gives PyTorch: not whygrad in its place, and not nothing."""
    loaded = sys.modules.get("torch")
    return importlib.util.find_spec("torch") is not None if loaded is None else loaded.__name__ == "torch"


def _before_cell(info: Any) -> None:
    if not _has_started and ("torch" in sys.modules or _IMPORTS.search(info.raw_cell or "")) and _has_torch():
        _start()


def _start() -> None:
    global _has_started
    from whygrad.for_torch.recording import is_on, on

    _has_started = not is_on()
    on()


def _why(line: str, cell: str | None = None) -> Any:
    """`%why expression` explains the gradient of a tensor, or of all parameters of a model.

    `%%why [model]` runs a cell and shows what is surprising about its gradients; of `model`, every parameter that gets none.
    """
    from IPython.core.getipython import get_ipython

    from whygrad.for_torch.questions import explain

    shell: Any = get_ipython()
    given = shell.ev(line) if line.strip() else None
    if cell is not None:
        _run_watched(shell, given, cell)
        return None
    if given is None:
        raise ValueError("%why takes a tensor or a model: %why model, %why w")
    return explain(given)


def _run_watched(shell: Any, model: Any, cell: str) -> None:
    from IPython.display import display

    from whygrad.for_torch.recording import watch

    text = f"# %%why\n{cell}"  # the line of the magic counts: so the others have their numbers
    _number(shell, text, cell)
    watched = watch(model, quiet=True)
    with suppress(Exception), watched:  # the shell has shown the error
        done = shell.run_cell(text, store_history=False)
        if (error := done.error_before_exec or done.error_in_exec) is not None:
            raise error
    display(watched.answers)


def _number(shell: Any, text: str, cell: str) -> None:
    """The code below the magic is a part of the cell that is running, and not one of the next number."""
    inputs = shell.history_manager.input_hist_raw
    if inputs and cell.strip() in inputs[-1]:
        name = shell.compile.get_code_name(text, shell.transform_cell(text), shell.execution_count)
        cells.remember_cell(name, f"cell {len(inputs) - 1}")
