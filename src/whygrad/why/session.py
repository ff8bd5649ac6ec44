"""One run under the watch: starts it, and tells what it found when the program has ended."""

from __future__ import annotations

import fnmatch
import json
import os
import sys

from whygrad.why.answers import Answer
from whygrad.why.watch import Watch

_whygrad_internal_ = True


class Session:
    def __init__(self, *, json_file: str | None = None, only: str | None = None, live: bool = False, quiet: bool = False) -> None:
        self.json_file = None if json_file is None else os.path.abspath(json_file)
        self.only = only
        self.quiet = quiet
        self.live = live and not quiet
        self.watch = Watch(self._tell if self.live else None)
        self.watch.start()

    def wanted(self, answer: Answer) -> bool:
        if self.only is None:
            return True
        return any(fnmatch.fnmatch(text, self.only) or self.only in text
                   for text in (answer.explanation.category, answer.place.expression))

    def _tell(self, answer: Answer) -> None:
        if self.wanted(answer):
            print(f"whygrad: {answer}", file=sys.stderr, flush=True)

    def finish(self) -> int:
        """Print and write the answers; give how many there are."""
        answers = [answer for answer in self.watch.stop() if self.wanted(answer)]
        if self.json_file is not None:
            with open(self.json_file, "w", encoding="utf-8") as file:
                json.dump([answer.to_dict() for answer in answers], file, indent=2, ensure_ascii=False)
                file.write("\n")
        if answers and not self.quiet and not self.live:
            sys.stdout.flush()
            for number, answer in enumerate(answers, 1):
                print(f"\nwhygrad [{number} of {len(answers)}] {answer}", file=sys.stderr)
        return len(answers)
