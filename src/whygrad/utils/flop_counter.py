"""torch.utils.flop_counter: the floating-point operations of products of matrices and convolutions, by module and op."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Self

from whygrad.core import door
from whygrad.core.modes import grad_state
from whygrad.core.record import RowSpecialization
from whygrad.core.tensor import Tensor
from whygrad.ops.flops import FLOPS
from whygrad.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode"]

SUFFIXES = ["", "K", "M", "B", "T"]


class CountedOp(str):
    """The name of an op of torch, as the keys of `get_flop_counts` show it: aten.mm."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class FlopCounterMode:
    """Counts the floating-point operations of what runs while it is entered, of backward passes too.

    `mods` is not needed any more: every module that is called has a count of its own. `depth` is that of the table.
    """

    # Rules of a backward are then applied to Tensors, so that their rows are heard of.
    hears_rules = True

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode(custom_mapping=...): whygrad counts its own rows")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[CountedOp, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        door.start(self)
        return self

    def __exit__(self, *error: object) -> None:
        door.stop(self)
        self.mod_tracker.__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))

    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...]) -> Any:
        spec = run_with[0]
        return (spec.row.name, inputs, run_with[-1]) if type(spec) is RowSpecialization and spec.row.name in FLOPS else None

    def end(self, token: Any, result: Any) -> None:
        if token is None or result is None:
            return
        name, inputs, statics = token
        flops = FLOPS[name]
        shapes = [x._array.shape for x in inputs if isinstance(x, Tensor)]
        counted = flops.aten
        if grad_state.running is not None and counted == "convolution":
            counted = "convolution_backward"
        elif counted == "addmm" and len(shapes) == 2:
            counted = "mm"
        number = flops.number(shapes, result._array.shape, statics)
        for parent in self.mod_tracker.parents if number else ():  # on the meta device, rows are applied to batches of nothing
            self.flop_counts[parent][CountedOp(f"aten.{counted}")] += number

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[CountedOp, int]]:
        """For each module (its class, and the names of its parts), and "Global": op -> number."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, modules down to `depth` parts."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        scale = min(max(0, (len(str(total)) - 1) // 3), len(SUFFIXES) - 1)
        rows = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = name.count(".") + (name != "Global")
            if level > depth:
                continue
            for number, (indent, label) in [(sum(self.flop_counts[name].values()), (level, name)),
                                            *((n, (level, f" - {op}")) for op, n in self.flop_counts[name].items())]:
                share = f"{100 * number / total:.2f}%" if total else "0%"
                rows.append((" " * indent + label, f"{number / 1000**scale:.3f}{SUFFIXES[scale]}", share))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
        return "\n".join([lines[0], "  ".join(["-" * width for width in widths]), *lines[1:]])
