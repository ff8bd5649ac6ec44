"""`python -m whygrad`: the same as the command `whygrad`."""

import sys

from whygrad.cli import main

sys.exit(main())
