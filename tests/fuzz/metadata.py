"""Random programs of views and writes into them: also strides, offsets, and who shares memory with whom."""

from __future__ import annotations

from .statements import COPIES, MEMORY, VIEWS, WRITES, Statements, table

TABLES = [*MEMORY, (table(VIEWS), 20, True), (table(WRITES), 8, False), (table(COPIES), 8, True)]
KIND = Statements("metadata", TABLES, memory=True)
