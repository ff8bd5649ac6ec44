"""What installed packages require."""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import metadata

from whygrad.base.engine_choice import is_installed

# Distributions that are looked at for one import: it may need torch through another one.
MAX_DISTRIBUTIONS = 40
# Packages that do nothing without torch and yet name it as an extra only.
BUILT_ON_TORCH = frozenset({"transformers", "diffusers"})


def requires_torch(package: str) -> bool:
    """Whether an installed package requires torch, itself or through others. By the metadata: nothing is imported."""
    pending = _distributions_of(package)
    known = set(pending)
    for name in pending:
        if name in BUILT_ON_TORCH:
            return True
        for needed in _requirements(name):
            if needed == "torch":
                return True
            if needed not in known and len(known) < MAX_DISTRIBUTIONS:
                known.add(needed)
                pending.append(needed)
    return False


def _distributions_of(package: str) -> list[str]:
    """Most distributions have the name of their package; only for others all installed ones are read."""
    with suppress(metadata.PackageNotFoundError, ValueError):
        metadata.distribution(package)
        return [_normalised(package)]
    if not is_installed(package):
        return []
    return [_normalised(name) for name in metadata.packages_distributions().get(package, [])]


def _requirements(distribution: str) -> list[str]:
    """The names of what it always requires: not its extras."""
    try:
        required = metadata.requires(distribution) or []
    except (metadata.PackageNotFoundError, ValueError):
        return []
    return [_normalised(name[0]) for text in required
            if not re.search(r"\bextra\b", text.partition(";")[2]) and (name := re.match(r"[\w.-]+", text))]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
