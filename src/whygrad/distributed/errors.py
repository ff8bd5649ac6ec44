"""The errors of torch.distributed."""

from __future__ import annotations

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class DistError(RuntimeError):
    """Something went wrong between the processes."""


class DistBackendError(DistError):
    """A collective failed: a timeout, a rank that has ended, or ranks that call different collectives."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """The store failed."""
