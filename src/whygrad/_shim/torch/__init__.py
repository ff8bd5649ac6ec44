"""Found instead of PyTorch by a process that multiprocessing has started afresh for a program under `whygrad run`."""

import sys

from whygrad import alias

del sys.modules["torch"]
alias.install()
import torch  # noqa: E402  now the alias
