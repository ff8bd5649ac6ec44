"""The subjects of the audit, in the order of the check-list."""

from __future__ import annotations

from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.gradient_scale import GradientScale
from whygrad.why.audit.subjects.numbers import Numbers
from whygrad.why.audit.subjects.parameters import Parameters

SUBJECTS: tuple[type[Subject], ...] = (Numbers, Parameters, GradientScale)
