"""torch._dynamo.exc: the errors of compilation."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """Base class of these errors."""


class Unsupported(TorchDynamoException):
    """With fullgraph=True: a function that cannot be compiled, and why."""
