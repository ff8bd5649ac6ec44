"""Autocasting: do layers inside of an autocast region compute in its lower precision?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_tensor
from whygrad.why.locations import expression_at
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Layers that must have run in a region before it is judged; regions, by line, that are kept.
MIN_LAYERS = 6
MAX_REGIONS = 32


class Region:
    """The regions that one line has entered."""

    def __init__(self, mode: Any) -> None:
        self.device, self.wanted = str(mode.device), _name(mode.fast_dtype)
        # Layers with weights that ran in it, and those that gave the dtype that was wanted; device, dtype and line of another.
        self.layers = self.lowered = 0
        self.other: tuple[str, str, Site] | None = None


class Autocasting(Subject):
    every_round = frozenset({"autocast_entered", "autocast_left"})
    checks = {"autocast": "layers under autocast compute in its lower precision"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._regions: dict[Site, Region] = {}
        # The regions that are entered at present; None where it is switched off on purpose.
        self._entered: list[Region | None] = []

    def autocast_entered(self, mode: Any, site: Site) -> None:
        known = None
        # Without such a device, autocast("cuda") switches itself off.
        if mode._enabled or (str(mode.device) == "cuda" and "enabled" not in expression_at(site)):
            known = self._regions.setdefault(site, Region(mode))
            drop_oldest(self._regions, MAX_REGIONS)
        self._entered.append(known)

    def autocast_left(self, mode: Any, site: Site) -> None:
        if self._entered:
            self._entered.pop()

    def module_called(self, call: ModuleCall) -> None:
        region = self._entered[-1] if self._entered else None
        if region is None or not is_tensor(call.output) or "Embedding" in type(call.module).__name__:
            return
        weights = [p for p in vars(call.module).get("_parameters", {}).values() if p is not None]
        if any(p.ndim > 1 for p in weights) and call.output.is_floating_point():
            region.layers += 1
            if _name(call.output.dtype) == region.wanted:
                region.lowered += 1
            else:
                region.other = call.output.device.type, _name(call.output.dtype), call.site

    def was_seen(self, check: str) -> bool:
        return any(region.layers for region in self._regions.values())

    def findings(self) -> Iterator[Finding]:
        for site, region in self._regions.items():
            if region.lowered or region.layers < MIN_LAYERS or region.other is None:
                continue
            device, dtype, called = region.other
            why = (f"it is made for {region.device}, and they computed on {device}" if device != region.device else
                   f"their inputs are {dtype}, which autocast leaves alone" if dtype == "float64" else
                   "what they compute with does not take part in it (functions with a precision of their own, such as custom_fwd "
                   "with cast_inputs, or kernels that torch does not dispatch)")
            yield finding("autocast", "autocast-without-effect", "autocast has no effect",
                          f"{count_of(region.layers, 'layer')} ran inside of the autocast region {at(site)}, and none gave a "
                          f"{region.wanted} (the last gave a {dtype} {at(called)}): {why}.",
                          "give autocast the device_type of the tensors (torch.autocast(x.device.type, ...)), and layers that it "
                          "knows float32 inputs.",
                          at=site, causes=(site, called), symptom="wrong-value", odd=True)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
