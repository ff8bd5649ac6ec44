"""Subject: the facts and the checks of one thing in a training run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from whygrad.why.audit.finding import Finding

if TYPE_CHECKING:
    from whygrad.why.audit.audit import Audit


class Subject:
    """A subject defines a method for each event it wants (README.md lists them)."""

    # The check-list: the id of each check, and what is so if it is passed.
    checks: ClassVar[dict[str, str]] = {}

    # Events that it wants in rounds that are not observed, too: what is cheap, and must not be missed.
    every_round: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def findings(self) -> Iterable[Finding]:
        """What is wrong, at the end of the run."""
        raise NotImplementedError

    def was_seen(self, check: str) -> bool:
        """False if the run had nothing that this check looks at."""
        return True
