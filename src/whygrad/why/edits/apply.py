"""Applies edits to the bytes of files; encoding and line endings are preserved."""

from __future__ import annotations

import codecs
import io
import re
import tokenize

from whygrad.why.answers import Edit


def apply(files: dict[str, bytes], edit: Edit) -> dict[str, bytes]:
    """The files with the edit applied. Raises UnicodeError or SyntaxError if a file's encoding cannot represent the text."""
    changed: dict[str, dict[int, str]] = {}
    for one in (edit, *edit.also):
        changed.setdefault(one.file, {})[one.line] = one.new
    return {**files, **{file: with_lines(files[file], lines) for file, lines in changed.items()}}


def with_lines(data: bytes, new: dict[int, str]) -> bytes:
    """The text with some lines replaced; a line whose new text is empty is deleted."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    text = data.decode(encoding)
    # Python's line ends: str.splitlines would also split at form feeds.
    pieces = re.split(r"(\r\n|\n|\r)", text)
    lines, endings = pieces[::2], pieces[1::2]
    usual = max(endings, key=endings.count) if endings else "\n"
    result = []
    for number, line in enumerate(lines, 1):
        ending = endings[number - 1] if number <= len(endings) else ""
        if number not in new:
            result.append(line + ending)
        elif new[number]:
            result.append(new[number].replace("\n", ending or usual) + ending)
    encoded = "".join(result).encode(encoding)
    return encoded if encoding != "utf-8-sig" or encoded.startswith(codecs.BOM_UTF8) else codecs.BOM_UTF8 + encoded


def moved(edit: Edit, file: str, line: int) -> range:
    """The lines of the new text that a line of the old text may have become."""
    shift, grown = 0, 0
    for one in (edit, *edit.also):
        if one.file != file:
            continue
        extra = one.new.count("\n") if one.new else -1
        if one.line < line:
            shift += extra
        elif one.line == line:
            grown = max(extra, 0)
    return range(line + shift, line + shift + grown + 1)
