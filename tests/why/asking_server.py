"""Answers questions about programs, each in a process of its own that is forked from this one.

`python asking_server.py torch` runs them on PyTorch, `whygrad` on whygrad's own engine.

A line of standard input is a JSON list: the path of a program and questions about it. The answer is a line of JSON: a reply to
each question, and the categories of the answers of `whygrad run`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

from whygrad import cli
from whygrad.why import trial
from whygrad.why.question_watch import QuestionWatch


def child(path: str, questions: list[str], report: Path) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    warnings.simplefilter("ignore")
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
    report.write_text(json.dumps({"replies": replies, "run": found, "failures": watch.failures}))


def serve(engine: str) -> None:
    cli.use_engine(engine)
    if engine == "torch":
        import torch

        torch.set_num_threads(1)
        torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports torch's compiler
    for line in sys.stdin:
        path, questions = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report")
            process = os.fork()
            if process == 0:
                try:
                    child(path, questions, report)
                finally:
                    os._exit(0)
            os.waitpid(process, 0)
            print(report.read_text() if report.exists() else "null", flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
