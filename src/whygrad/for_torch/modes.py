"""Switches of the running program that torch does not tell: who turned recording off, and the backward that runs."""

from __future__ import annotations

import threading
from typing import Any

from whygrad.why.record import Site


class Modes(threading.local):
    # The mode under which nothing is recorded ("no_grad", "inference_mode", "f.forward" of a custom Function), and where it
    # was entered.
    off_name = ""
    off_site: Site | None = None
    # The backward that runs in this thread.
    running: Any = None


modes = Modes()
