"""torch.utils.serialization.config: `save` and `load`, each with its settings."""

from whygrad.io.options import load, save

__all__ = ["load", "save"]
