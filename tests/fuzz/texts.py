"""Random programs of the usual operations: errors have torch's words as well."""

from __future__ import annotations

from .statements import PLAIN, Statements

KIND = Statements("texts", PLAIN, texts=True)
