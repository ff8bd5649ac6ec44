"""Packages that are loaded on first use, for the packages below them (see base/on_demand.py)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from whygrad.base.on_demand import on_demand


def compose_note(name: str, *about: Any) -> Any:
    from whygrad.why import error_notes

    return getattr(error_notes, name)(*about)


def explain(t: Any, **options: Any) -> Any:
    from whygrad.why.explain import explain

    return explain(t, **options)


def load_sparse() -> ModuleType:
    from whygrad import sparse

    return sparse


def load_meta() -> ModuleType:
    from whygrad.autograd import meta

    return meta


def load_compiler() -> ModuleType:
    from whygrad.compat import compiler

    return compiler


def load_distributed() -> ModuleType:
    from whygrad import distributed

    return distributed


on_demand.compose_note, on_demand.explain = compose_note, explain
on_demand.load_sparse, on_demand.load_meta = load_sparse, load_meta
on_demand.load_compiler, on_demand.load_distributed = load_compiler, load_distributed
