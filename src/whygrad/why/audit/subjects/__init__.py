"""The subjects of the audit, in the order of the check-list."""

from __future__ import annotations

from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.parameters import Parameters

SUBJECTS: tuple[type[Subject], ...] = (Parameters,)
