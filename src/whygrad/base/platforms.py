"""What a platform lacks."""

from __future__ import annotations

import sys

# Python in a browser (Pyodide): no processes, no floating-point flags, no machine code at run time.
IS_WEBASSEMBLY = sys.platform == "emscripten"
