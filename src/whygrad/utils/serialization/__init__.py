"""torch.utils.serialization: settings of `torch.save` and `torch.load`."""

from whygrad.utils.serialization import config

__all__ = ["config"]
