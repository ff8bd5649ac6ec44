"""torch.hub: weight files from the web, and models from a local folder with a `hubconf.py`.

Repositories are not downloaded from GitHub, because their code would run unreviewed. Clone one, review it, and load it with
`source="local"`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from types import ModuleType
from typing import Any

from whygrad.base.unsupported import missing
from whygrad.io import load as _load_file
from whygrad.io.atomic import replacing

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The download folder: the one given to `set_dir`, or `hub` in $TORCH_HOME or in ~/.cache/torch."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file. `dst` appears only when the file is complete and its SHA256 begins with `hash_prefix`."""
    from urllib.request import Request, urlopen

    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source, replacing(os.path.expanduser(dst)) as file:
        digest = hashlib.sha256()
        while piece := source.read(READ_DATA_CHUNK):
            file.write(piece)
            digest.update(piece)
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None, weights_only: bool = True) -> Any:
    """Load a weight file, downloaded unless it is cached. Unlike in torch, code in the file cannot run."""
    from urllib.parse import urlparse

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        prefix = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, prefix[1] if prefix else None, progress)
    return _load_file(path, map_location=map_location, weights_only=weights_only)


def _hubconf(folder: str, source: str, function: str) -> ModuleType:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(f"torch.hub.{function}: repositories are not fetched from GitHub in whygrad; clone it and "
                                  'give the folder with source="local"')
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """The result of the function `model` of the folder's `hubconf.py`."""
    return _entry(_hubconf(repo_or_dir, source, "load"), model)(*args, **kwargs)


list = missing("torch.hub.list")
help = missing("torch.hub.help")


load_url = load_state_dict_from_url  # torch.utils.model_zoo has it under this name
