"""The functions of the torch namespace under one name, so that code here reads as it would with torch."""

from __future__ import annotations

from types import SimpleNamespace

from whygrad.functional import FUNCTIONS

torch = SimpleNamespace(**FUNCTIONS)
