"""torch.serialization: `save` and `load` in torch's own file format, so that checkpoints are compatible in both directions.

A checkpoint is a zip archive: `data.pkl` describes the objects, `data/0`, `data/1` ... hold the bytes of the storages.

    saving.py      objects -> data.pkl and storages -> archive
    atomic.py      a file is replaced in one step or not at all
    archive.py     archive -> records, with all sizes and checksums verified
    unpickling.py  data.pkl -> objects, by an interpreter restricted to tensors and plain containers
    rebuilding.py  the few functions and classes that a pickle may name, and storage -> tensor
    options.py     settings, and skip_data
    loading.py     file -> archive -> pickle -> objects
"""

from whygrad.base.unsupported import absent_from
from whygrad.io.loading import default_restore_location, load
from whygrad.io.options import skip_data
from whygrad.io.rebuilding import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from whygrad.io.safetensors import load_safetensors, save_safetensors
from whygrad.io.saving import save

__getattr__ = absent_from("torch.serialization")

__all__ = ["add_safe_globals", "clear_safe_globals", "default_restore_location", "get_safe_globals", "load", "load_safetensors",
           "safe_globals", "save", "save_safetensors", "skip_data"]
