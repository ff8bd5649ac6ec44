"""`asking.py ENGINE PROGRAM QUESTION...` runs a program, on PyTorch (torch) or on whygrad's own engine, and answers questions.

It prints a line of JSON: a reply to each question, and the answers of `whygrad run`.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

from whygrad import cli
from whygrad.why import trial
from whygrad.why.question_watch import QuestionWatch


def replies_of(path: str, questions: list[str]) -> dict[str, Any]:
    watch = QuestionWatch(" ".join(questions), path)
    error, line = "", 0
    watch.start()
    try:
        cli.execute(cli.Program("script", path, []))
    except BaseException as raised:
        error, line = f"{type(raised).__name__}: {raised}".splitlines()[0], trial._line_of(raised, path)
        watch.stop()  # while the exception is being handled, as in `whygrad run`
    else:
        watch.stop()
    replies = []
    for question in questions:
        watch.question = question
        replies.append(watch.answer(error, line))
    found = [{"category": answer.explanation.category, "line": answer.location.line,
              "causes": [cause.line for cause in answer.explanation.causes]} for answer in watch.answers]
    return {"replies": replies, "run": found, "failures": watch.failures}


if __name__ == "__main__":
    _, engine, program, *asked = sys.argv
    cli.use_engine(engine)
    warnings.simplefilter("ignore")
    printed = sys.stdout
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    print(json.dumps(replies_of(program, asked)), file=printed, flush=True)
