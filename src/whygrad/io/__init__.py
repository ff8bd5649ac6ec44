"""torch.serialization: `save` and `load` in torch's own file format, so that checkpoints are compatible in both directions.

A checkpoint is a zip archive: `data.pkl` describes the objects, `data/0`, `data/1` ... hold the bytes of the storages.

    saving.py      objects -> data.pkl and storages -> archive
    atomic.py      a file is replaced in one step or not at all
    archive.py     archive -> records, with all sizes and checksums verified
    unpickling.py  data.pkl -> objects, by an interpreter restricted to tensors and plain containers
    rebuilding.py  the few functions and classes that a pickle may name, and storage -> tensor
    options.py     settings, and skip_data
    loading.py     file -> archive -> pickle -> objects
    legacy.py      the same for files from before torch 1.6, which are no archives
"""

from whygrad.base.unsupported import absent_from
from whygrad.io.loading import default_restore_location, get_unsafe_globals_in_checkpoint, load, location_tag
from whygrad.io.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from whygrad.io.rebuilding import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from whygrad.io.safetensors import load_safetensors, save_safetensors
from whygrad.io.saving import save

__getattr__ = absent_from("torch.serialization")

__all__ = ["LoadEndianness", "add_safe_globals", "clear_safe_globals", "default_restore_location", "get_crc32_options",
           "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals",
           "get_unsafe_globals_in_checkpoint", "load", "load_safetensors", "location_tag", "safe_globals", "save",
           "save_safetensors", "set_crc32_options", "set_default_load_endianness", "set_default_mmap_options",
           "skip_data"]
