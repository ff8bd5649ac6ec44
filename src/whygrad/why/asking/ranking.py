"""Which findings of the run fit a question, the best first."""

from __future__ import annotations

import re
from typing import NamedTuple

from whygrad.why.answers import Answer
from whygrad.why.asking.mentions import Known
from whygrad.why.asking.topics import SUBJECT, Topic, topics_of

# Words that say nothing about the subject.
_COMMON = {
    "why", "what", "does", "did", "the", "and", "are", "was", "this", "that", "with", "for", "from", "not", "all", "any",
    "but", "can", "has", "have", "how", "its", "into", "only", "after", "before", "when", "while", "grad", "gradient",
    "gradients", "loss", "model", "network", "training", "train", "parameter", "parameters", "weight", "weights", "layer",
    "layers", "step", "steps", "value", "values", "same", "there", "them", "they", "she", "her", "his", "our", "your",
    "seem", "seems", "doing", "every", "each", "nothing"}
NAMED, LINE = 8.0, 6.0


class Subject(NamedTuple):
    """What a question is about."""

    words: str
    topics: list[Topic]
    parameters: list[Known]

    @property
    def is_general(self) -> bool:
        """True if any finding may be meant."""
        if any(topic.general for topic in self.topics):
            return True
        is_asked = bool(self.topics) or re.search(SUBJECT, self.words) is not None
        return is_asked and not self.parameters and not any(topic.exact for topic in self.topics)


def subject_of(words: str, parameters: list[Known]) -> Subject:
    return Subject(words, topics_of(words), parameters)


def fitting(answers: list[Answer], subject: Subject) -> list[Answer]:
    """The answers that fit, the best first."""
    scored = [(_score(answer, subject), -n, answer) for n, answer in enumerate(answers)]
    return [answer for points, _, answer in sorted(scored, key=lambda entry: entry[:2], reverse=True) if points > 0]


def concerns(answer: Answer, parameters: list[Known]) -> bool:
    """True if an answer names one of these parameters."""
    names = set(answer.explanation.parameters)
    return any(names & {k.name, k.qualified, *[f"{variable}.{k.name}" for variable in k.variables]} for k in parameters)


def is_direct(answer: Answer, subject: Subject) -> bool:
    """True if an answer belongs to a particular complaint of the question, not only to training as a whole."""
    explanation = answer.explanation
    return any(topic.rank(explanation.category, explanation.symptom) for topic in subject.topics if not topic.general)


def _score(answer: Answer, subject: Subject) -> float:
    """0 or less if it does not fit."""
    explanation, words = answer.explanation, subject.words
    by_topic = sum(topic.rank(explanation.category, explanation.symptom) for topic in subject.topics)
    named = concerns(answer, subject.parameters)
    by_word = _common_words(answer, words)
    on_line = re.search(rf"\bline {answer.location.line}\b", words) is not None or any(
        re.search(rf"\bline {cause.line}\b", words) for cause in explanation.causes)
    fits = by_topic > 0 or named or on_line or subject.is_general or by_word >= 2
    if not fits or explanation.category == "ok":
        return 0
    points = by_topic + min(by_word, 4) + NAMED * named + LINE * on_line
    if subject.parameters and not named and (explanation.parameters or explanation.symptom not in ("no-update", "nan")):
        # It is about other parameters, or about something that does not keep these from changing.
        return 0 if explanation.parameters and not subject.is_general else max(points - NAMED, 0.1)
    return points + (0.5 if subject.is_general else 0.1) - (1.5 if explanation.odd or explanation.harmless else 0)


def _common_words(answer: Answer, words: str) -> float:
    """Points for words of the question that are in the answer: its category, lines of the program, headline and text."""
    explanation = answer.explanation
    stems = {word[:6] for word in re.findall(r"[a-z_]{3,}", words) if word not in _COMMON}
    near = " ".join([explanation.category, explanation.headline, answer.location.expression,
                     *[cause.expression for cause in explanation.causes]]).lower()
    return sum(1.5 if stem in near else 0.4 if stem in explanation.text.lower() else 0 for stem in stems)
