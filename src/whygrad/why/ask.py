"""`whygrad ask "why is output.grad None" script.py`: matches a question in words with the program's reads and answers it."""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import sys
from math import prod
from typing import Any

from whygrad.cli import add_engine, engine_for, parsed, refuse_without_file, split
from whygrad.why.answers import Answer, Explanation
from whygrad.why.asking.mentions import known_parameters, mentioned
from whygrad.why.asking.ranking import Subject, concerns, fitting, is_direct, subject_of
from whygrad.why.asking.survey import has_moved, in_order, survey, told_otherwise
from whygrad.why.asking.topics import SUBJECT, topics_of
from whygrad.why.edits.bindings import binding_before
from whygrad.why.engine import Tensor, grad_of, is_tensor
from whygrad.why.explain import explain
from whygrad.why.locations import SourceLocation
from whygrad.why.question_watch import BackwardCall, Event, QuestionWatch, named_value
from whygrad.why.source_tree import SourceTree, source_of, start
from whygrad.why.trial import run

USAGE = 'whygrad ask [--engine ENGINE] [--timeout SECONDS] "question" (script.py | -m module) [arguments of the program ...]'

# Patterns in a question -> the outcome of a read that they refer to.
OUTCOMES = {
    r"\bnone\b|missing|no (grad|gradient)\b|empty": "none", r"\bzero|\b0\b": "zero", r"\bnan\b|\binf": "nan",
    r"\bfalse\b|not tracked|not require": "false", r"\btrue\b": "true",
    r"error|raise|crash|fail|exception|refuse|can't|cannot": "error", r"not none|has a value|retain|keep|still": "value",
}
GRADIENT_ARGUMENT = r"gradient\b.{0,15}\b(parameter|argument)|(parameter|argument).{0,15}\bgradient|grad can be implicitly"
KEPT_WITHOUT_REQUIRING = r"requires_grad\s*(=|is)\s*false.*(retain|keep|still|have|has)|frozen.*(retain|keep|still|have|has)"
GRAD_OUTPUT = r"grad_output\w*"
MIN_SCORE = 4.0
# What is wrong with one of several losses does not keep a parameter that moves from moving.
OF_ONE_LOSS = {"loss-unused", "loss-detached", "term-without-influence"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="whygrad ask", usage=USAGE,
        description="Run a PyTorch program (its output is hidden) and answer a question about its gradients.",
        epilog="Options stand before the question; what stands behind the script or module is given to it. "
        "Exit code: 0 if there is an answer, 1 if the question fits nothing in the program, 2 for wrong usage.")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS",
                        help="how long the program may take (default 600)")
    add_engine(parser)
    own, asked = split(parser, arguments)  # the question stands where the script does elsewhere
    if asked is None or asked.how != "script" or not asked.arguments:
        parser.parse_args(own)
        parser.error("give a question (in quotes) and a script, or -m module")
    options, program = parsed(parser, [*own, *asked.arguments])
    refuse_without_file(parser, program)
    outcome = run(program, timeout=options.timeout, question=asked.target,
                  engine=engine_for(program, options.engine))
    if outcome.timed_out:
        so_far = "" if outcome.asked is None else "; this is what was seen until then"
        print(f"whygrad ask: the program did not end within {options.timeout:g} seconds{so_far}", file=sys.stderr)
        if outcome.asked is None:
            return 1
    if outcome.asked is None:
        print(f"whygrad ask: the program ended with exit code {outcome.code} and left no report", file=sys.stderr)
        return 1
    print(outcome.asked["text"])
    return 0 if outcome.asked["found"] else 1


# The functions below run in the program's process, at the end of the run.


def reply(watch: QuestionWatch, error: str, line: int) -> dict[str, Any]:
    parameters = known_parameters(watch)
    words = watch.question.replace("`", "").lower()
    subject = subject_of(words, mentioned(words, expressions(watch.question), parameters))
    found = _found(watch, subject, error, line)
    if found is not None:
        return {"found": True, "text": found}
    lines = ["Nothing in this program fits the question." + (f" It ended{_in(line)} with {error}." if error else "")]
    looked = survey(watch, parameters)
    if looked:
        lines += ["What was looked at:", *[f"  {text}" for text in looked]]
    reads = list(dict.fromkeys(f"  {e.answer.location.place}: {e.answer.location.expression}" for e in watch.events))
    if reads:
        lines += ["What the program read:", *reads[:20]]
    if watch.answers:
        lines += ["What was found, but does not fit:", *told_otherwise(watch.answers)]
    return {"found": False, "text": "\n".join(lines)}


def _found(watch: QuestionWatch, subject: Subject, error: str, line: int) -> str | None:
    words = subject.words
    for pattern, answer in ((GRADIENT_ARGUMENT, _about_gradient_argument), (KEPT_WITHOUT_REQUIRING, _about_kept_gradient)):
        text = answer(watch) if re.search(pattern, words) else None
        if text is not None:
            return text
    findings = fitting(watch.answers, subject)
    told = next((answer for answer in findings if concerns(answer, subject.parameters)), None)
    asked = expressions(watch.question)
    event = _best(watch, words)
    if event is not None and not _is_about(event, watch.question):
        event = None
    if event is None and asked:
        event = _asked_tensor(watch)
    if told is not None and (event is None or not _is_reported(watch, event)):
        return _with_others(str(told), findings, [told])  # what `whygrad run` says of it goes first
    if event is not None and (asked or _is_reported(watch, event) or not findings):
        return _with_others(_answer_text(event, words), findings, [event.answer])
    if subject.parameters:
        return _about_parameters(watch, subject, findings)
    never_reached = _never_reached(watch, error, line) if not findings or asked else None
    if never_reached is not None:
        return never_reached
    if re.search(GRAD_OUTPUT, words) and watch.backward_calls:
        return _about_grad_output(watch.backward_calls[-1])
    # A name that the program does not have means that the question is about another program.
    if not all(_is_known(watch, expression) for expression in asked):
        return None
    if findings:
        return _with_others(str(findings[0]), findings, findings[:1])
    for expression in asked:
        text = _about_intermediate(watch, expression)
        if text is not None:
            return text
    return _last_read(watch, words) if subject.is_general or not subject.topics else None


def _with_others(text: str, findings: list[Answer], told: list[Answer]) -> str:
    """An answer, and one line for each other finding of the audit that fits the question."""
    others = [answer for answer in findings if answer.explanation.check
              and not any(answer.explanation is known.explanation for known in told)]
    return "\n".join([text, "Also found:", *told_otherwise(others)]) if others else text


def _is_reported(watch: QuestionWatch, event: Event) -> bool:
    return any(event.answer.explanation is answer.explanation for answer in watch.answers)


def _about_parameters(watch: QuestionWatch, subject: Subject, findings: list[Answer]) -> str:
    """The answer about parameters that no read and no finding is about in particular."""
    first = subject.parameters[0]
    moved = all(has_moved(watch, k.p) for k in subject.parameters)
    only_general = all(topic.general for topic in subject.topics)
    by_all = [answer for answer in findings if not answer.explanation.parameters and (only_general or is_direct(answer, subject))
              and not (moved and (answer.explanation.category in OF_ONE_LOSS or answer.explanation.symptom == "unwanted"))]
    if by_all:
        return _with_others(str(by_all[0]), findings, by_all[:1])
    explanation = None if moved and not re.search(r"\bnone\b|grad\b", subject.words) else explain(first.p)
    if explanation is not None and explanation.category != "ok":
        asked = f"{first.name}.grad" if "grad" in subject.words else first.name
        return _with_others(_answer_text(_event_of(watch, asked, first.p, explanation), subject.words), findings, [])
    return _with_others("\n".join([f"Nothing is wrong with {'it' if len(subject.parameters) == 1 else 'them'}. [ok]",
                                   in_order(watch, subject.parameters)]), findings, [])


def _is_known(watch: QuestionWatch, expression: str) -> bool:
    """True if the program has the first name of an expression, as a variable or in its text."""
    name = re.split(r"\W", expression)[0]
    if name in ("loss", "model", "net", "opt", "optim", "optimizer", "scheduler", "self", "torch"):
        return True  # what everybody calls them
    source = source_of(watch.script)
    return name in watch.scope() or (source is not None and any(
        (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, (ast.arg, ast.alias)) and name in ast.unparse(node))
        for node in source.walk()))


def _about_intermediate(watch: QuestionWatch, expression: str) -> str | None:
    """The answer from the text alone, for the gradient of a variable that a function computes and that is gone."""
    source = source_of(watch.script)
    name = expression.removesuffix(".grad")
    if source is None or name == expression:
        return None
    bound = [node for node in source.walk() if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets)
             and isinstance(node.value, (ast.BinOp, ast.Call))]
    if not bound:
        return None
    made = SourceLocation(watch.script, bound[-1].lineno, bound[-1].lineno, 0, 0, "", source.text(bound[-1].value))
    explanation = Explanation(
        "this is an intermediate result, and the program does not read its gradient", "non-leaf-no-retain",
        f"`{name}` is the result of `{made.expression}` (line {made.line}), not a leaf. Gradients pass through it, but only "
        "leaves keep theirs.", f"call {name}.retain_grad() before backward().", [made])
    return str(Answer(made, explanation))


def _last_read(watch: QuestionWatch, words: str) -> str | None:
    """For a question without a finding: the last gradient that was read and has the outcome in question."""
    outcomes = [outcome for pattern, outcome in OUTCOMES.items() if re.search(pattern, words)]
    about = re.search(SUBJECT, words) is not None
    reads = [e for e in watch.events if e.what == "grad" and (e.outcome in outcomes if outcomes else about)]
    best = max(enumerate(reads), key=lambda entry: (score(entry[1], watch.question, words), entry[0]), default=None)
    return _answer_text(best[1], words) if best is not None else None


def _is_about(event: Event, question: str) -> bool:
    """True if the event is about the first expression of the question."""
    own = [_normalized(event.answer.location.expression), *[f"{name}.{event.what}" for name in event.names]]
    return event.what == "error" or not expressions(question) or any(
        _similarity(expressions(question)[0], mine) >= 0.5 for mine in own)


def expressions(question: str) -> list[str]:
    """The expressions in a question, those that only say when ("after loss.backward()") last."""
    quoted = re.findall(r"`([^`]+)`", question)
    dotted = re.findall(r"[A-Za-z_]\w*(?:\[[^\]]*\])*(?:\.[A-Za-z_]\w*(?:\[[^\]]*\])*)+(?:\(\))?", question.replace("`", " "))
    found = [_normalized(text) for text in (*quoted, *dotted)]
    aside = [_normalized(t) for t in re.findall(r"(?:after|before|when|since|following)\s+`?([\w.\[\]]+(?:\(\))?)", question)]
    return sorted(dict.fromkeys(f for f in found if f), key=lambda f: f in aside)


def _normalized(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text.strip(" ?.,;:!"), mode="eval"))
    except (SyntaxError, ValueError):
        return ""


def _best(watch: QuestionWatch, words: str) -> Event | None:
    scored = [(score(e, watch.question, words), n, e) for n, e in enumerate(watch.events)]
    best = max(scored, default=None, key=lambda entry: entry[:2])
    return best[2] if best is not None and best[0] >= MIN_SCORE else None


def score(event: Event, question: str, words: str) -> float:
    """How well an event fits a question: points for expression, outcome, category, error text and line."""
    explanation, where = event.answer.explanation, event.answer.location
    points = 0.0
    own = [_normalized(where.expression), *[f"{name}.{event.what}" for name in event.names]]
    for position, asked in enumerate(expressions(question)):
        points += max((_similarity(asked, mine) for mine in own), default=0.0) * (10 if position == 0 else 3)
    if event.what == "error":
        common = difflib.SequenceMatcher(None, words, explanation.headline.lower(), autojunk=False)
        points += 8 if common.find_longest_match().size >= 18 else 0
    elif not any(name in words for mine in own for name in [mine.partition(".")[0]] if name):
        points -= 2
    mentioned = re.findall(r"[A-Za-z_]\w*", words)
    points += 2.5 * sum(1 for name in {mine.partition(".")[0].lower() for mine in own} if name and name in mentioned)
    points += sum(2 for pattern, outcome in OUTCOMES.items() if outcome == event.outcome and re.search(pattern, words))
    points += 3 * any(topic.rank(explanation.category, "") for topic in topics_of(words) if not topic.general)
    if re.search(rf"\bline {where.line}\b", words):
        points += 6
    return points + (0.5 if explanation.category != "ok" else 0)


def _similarity(asked: str, mine: str) -> float:
    """1 for the same expression, less for a part of it or a misspelling."""
    a, b = (re.sub(r"\[(\w+)\]", r".\1", text) for text in (asked, mine))
    if a == b:
        return 1.0
    if b.endswith(f".{a}") or a.endswith(f".{b}"):
        return 0.7
    if b.startswith(f"{a}.") or a.startswith(f"{b}."):
        return 0.5
    if a.rpartition(".")[2] != b.rpartition(".")[2]:
        return 0.0
    near = difflib.SequenceMatcher(None, a, b).ratio()
    return 0.6 * near if near > 0.8 and a.rpartition(".")[0][:1] == b.rpartition(".")[0][:1] else 0.0


def _answer_text(event: Event, words: str) -> str:
    lines = []
    wants_none = re.search(r"\bnone\b", words) and not re.search("not none", words)
    if event.what == "grad" and wants_none and event.outcome != "none":
        lines.append(f"It is not None here: `{event.answer.location.expression}` has a value.")
    if event.answer.explanation.category == "ok":
        lines.append("Nothing is wrong with it.")
    return "\n".join([*lines, str(event.answer)])


def _about_gradient_argument(watch: QuestionWatch) -> str | None:
    raised = [e for e in watch.events if e.answer.explanation.category in ("non-scalar-backward", "gradient-shape-mismatch")]
    why = ("backward() multiplies a vector with the Jacobian. For one element (a scalar loss) there is an obvious vector, the "
           "single number 1, and nothing need be given. For more elements there is none: gradient= says how much each of them "
           "counts, and must have exactly the shape of the tensor. The parameter is called gradient; grad_output is what a "
           "custom backward receives.")
    if raised:
        return f"{raised[-1].answer}\n{why}"
    if not watch.backward_calls:
        return None
    calls = watch.backward_calls
    lines = ["In this program it is not necessary." if all(call.shape is None or prod(call.shape) == 1 for call in calls)
             else "In this program it is."]
    for subject, shape, given, line in dict.fromkeys(
            (call.subject, call.shape, call.given, call.location.line if call.location else 0) for call in calls):
        if shape is not None:
            count = prod(shape)
            size = "one element" if count == 1 else f"{count} elements"
            needless = ", and is not needed: without it 1 is taken" if count == 1 else ""
            rest = f"; gradient= is given{needless}" if given else ""
            lines.append(f"  line {line}: `{subject}` has shape {list(shape)}, {size}{rest}.")
    return "\n".join([*lines, why])


def _about_kept_gradient(watch: QuestionWatch) -> str | None:
    reads = [e for e in watch.events if e.what == "grad" and not e.requires_grad]
    kept = [e for e in reads if e.outcome != "none"]
    if kept:
        return str(kept[-1].answer)
    if reads:
        last = reads[-1]
        explanation = last.answer.explanation
        return (f"It retains nothing here: `{last.answer.location.expression}` in {last.answer.location.place} is None. "
                f"[{explanation.category}]\n{explanation.text} A tensor that does not require grad never collects a gradient by "
                "taking part in tracked operations; it can only keep one from before it was frozen, or one that was assigned by "
                "hand.")
    return None


def _about_grad_output(last: BackwardCall) -> str:
    at = f" in {last.location.place}, `{last.location.expression}`," if last.location is not None else ""
    if last.create_graph:
        text = ("was recorded (create_graph=True): the gradients it hands from operation to operation require grad wherever they "
                "depend on tensors that do. After a plain sum they do not: there the gradient is a constant.")
    else:
        text = ("was not recorded: the gradients it hands from operation to operation (grad_output of a custom backward among "
                "them) are plain values with requires_grad=False.")
    explanation = Explanation(
        "gradients of gradients were not asked for" if not last.create_graph else "gradients are recorded",
        "no-create-graph" if not last.create_graph else "ok", f"The backward{at} {text}",
        "pass create_graph=True to that backward() or autograd.grad() call." if not last.create_graph else "",
        [last.location] if last.location is not None else [])
    return str(Answer(last.location, explanation)) if last.location is not None else str(explanation)


def _in(line: int) -> str:
    return f" in line {line}" if line else ""


def _never_reached(watch: QuestionWatch, error: str, line: int) -> str | None:
    """The answer if the program raised before it reached the expression in question."""
    if not error:
        return None
    source = source_of(watch.script)
    raised = [answer for answer in watch.answers if answer.location.line == line or answer.explanation.symptom == "error"]
    lines = [f"The program ends{_in(line)} with {error}."]
    for asked in expressions(watch.question):
        read = _read_in(source, asked) if source is not None else None
        if source is not None and read is not None:
            lines[0] = f"The program never comes to `{asked}` in line {read.lineno}: it ends{_in(line)} with {error}."
            lines += _from_text(source, read)
            break
    if re.search(GRAD_OUTPUT, watch.question):
        lines.append("As for grad_output: what a backward hands from operation to operation is a plain value, with "
                     "requires_grad=False, unless the pass is recorded with create_graph=True. [no-create-graph]")
    lines.insert(1, str(raised[-1]) if raised else "That is not a question of gradients.")
    return "\n".join(lines)


def _read_in(source: SourceTree, asked: str) -> ast.Attribute | None:
    return next((n for n in source.walk() if isinstance(n, ast.Attribute) and ast.unparse(n) == asked), None)


def _from_text(source: SourceTree, read: ast.Attribute) -> list[str]:
    """What the text alone says about a tensor that was never created."""
    bound = binding_before(source, read.value, read)
    if bound is None or not isinstance(bound.value, (ast.BinOp, ast.Call)) or read.attr != "grad":
        return []
    name, made, line = ast.unparse(read.value), source.text(bound.value), start(bound.statement).line
    blocks = [a for a in source.ancestors(bound.value) if isinstance(a, ast.With)]
    off = next((block for block in blocks if "no_grad" in ast.unparse(block.items[0])), None)
    if off is not None:
        text = (f"`{name}` is computed in the block of line {off.lineno}, where nothing is recorded, so it has no history: its "
                ".grad is None, and backward() on what is made of it raises.")
    else:
        text = (f"`{name}` is the result of `{made}` (line {line}), not a leaf. Gradients pass through it, but only leaves keep "
                f"theirs: its .grad is None unless {name}.retain_grad() is called before backward().")
    return [f"When that is mended: {text}"]


def _asked_tensor(watch: QuestionWatch) -> Event | None:
    """The answer for a tensor in a variable that the program never read."""
    for asked in expressions(watch.question):
        node = ast.parse(asked, mode="eval").body
        for subject in (node.value if isinstance(node, ast.Attribute) else node, node):
            value = named_value(subject, watch.scope())
            if is_tensor(value):
                return _event_of(watch, asked, value, explain(value))
    return None


def _event_of(watch: QuestionWatch, asked: str, value: Tensor, explanation: Explanation) -> Event:
    where = explanation.causes[0] if explanation.causes else SourceLocation(watch.script, 0, 0, 0, 0, "", "")
    location = SourceLocation(where.file, where.line, where.line, 0, 0, "", asked)
    return Event("grad", Answer(location, explanation), "none" if grad_of(value) is None else "value")
