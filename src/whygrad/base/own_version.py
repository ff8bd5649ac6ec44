"""whygrad's own version, also while `whygrad.__version__` tells torch's."""

from __future__ import annotations

import sys


def own_version() -> str:
    alias = sys.modules.get("whygrad.alias")
    return str(sys.modules["whygrad"].__version__ if alias is None else alias.own_version())
