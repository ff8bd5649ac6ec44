"""Text as HTML."""

from __future__ import annotations

import html
import math
import re


def prose(text: str) -> str:
    """Escaped text with `code` in code elements."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def count_of(things: int, noun: str, plural: str = "") -> str:
    return f"{things:,} {noun}" if things == 1 else f"{things:,} {plural or noun + 's'}"


def short_number(x: float) -> str:
    """Three digits, in the form that is short."""
    if not math.isfinite(x):
        return str(x)
    text = f"{x:.3g}"
    if "e" in text:
        digits, exponent = text.split("e")
        return f"{digits}e{int(exponent)}"
    return text
