"""CTC on bare arrays: the forward-backward algorithm, for the whole batch and all labels at once, step by step.

A label sequence is read with blanks around and between: "ab" as "_a_b_". A path goes through these places and stays, moves
on by one, or leaps over a blank between two different labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.backends.fp_warnings import quiet


class Places(NamedTuple):
    """What a path can go through, by sample and place."""

    labels: np.ndarray  # (batch, places)
    scores: np.ndarray  # (steps, batch, places); minus infinity behind the end of a sequence
    no_leap: np.ndarray  # (batch, places): 0 where the place can be reached from two before, else minus infinity


def _places(x: Any, labels: Any, lengths: tuple[int, ...], blank: int) -> Places:
    batch, longest = labels.shape
    places = np.full((batch, 2 * longest + 1), blank, np.int64)
    places[:, 1::2] = labels
    behind = np.arange(places.shape[1]) > 2 * np.array(lengths)[:, None]
    places[behind] = blank
    scores = np.where(behind, x.dtype.type(-np.inf), np.take_along_axis(x, places[None], axis=2))
    no_leap = np.full(places.shape, -np.inf, x.dtype)
    no_leap[:, 2:][places[:, 2:] != places[:, :-2]] = 0
    return Places(places, scores, no_leap)


def _moved(before: Any, no_leap: Any) -> Any:
    """Log-likelihoods after one more step, without the scores of that step."""
    after = before.copy()
    after[:, 1:] = np.logaddexp(after[:, 1:], before[:, :-1])
    after[:, 2:] = np.logaddexp(after[:, 2:], before[:, :-2] + no_leap[:, 2:])
    return after


@quiet
def ctc_loss(x: Any, labels: Any, *, steps: tuple[int, ...], lengths: tuple[int, ...], blank: int,
             zero_infinity: bool) -> tuple[Any, Any]:
    _, scores, no_leap = _places(x, labels, lengths, blank)
    beginnings = np.full_like(scores, -np.inf)
    beginnings[0, :, :2] = scores[0, :, :2]
    for t in range(1, len(scores)):
        np.add(_moved(beginnings[t - 1], no_leap), scores[t], out=beginnings[t])
    samples, last, end = np.arange(len(steps)), np.array(steps) - 1, 2 * np.array(lengths)
    # At the end stands the last blank or the last label, if there is one.
    likelihood = np.logaddexp(beginnings[last, samples, end],
                              np.where(end > 0, beginnings[last, samples, end - 1], -np.inf).astype(x.dtype))
    without_steps = np.where(end > 0, np.inf, -0.0).astype(x.dtype)
    return np.where(last < 0, without_steps, -likelihood), beginnings


@quiet
def ctc_loss_backward(grad: Any, x: Any, labels: Any, losses: Any, beginnings: Any, *, steps: tuple[int, ...],
                      lengths: tuple[int, ...], blank: int, zero_infinity: bool) -> Any:
    places, scores, no_leap = _places(x, labels, lengths, blank)
    through = np.exp(beginnings + _endings(scores, no_leap, steps, lengths) + losses[:, None] - scores)
    # Several places have the same label: the blank does, others may.
    target = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])[:, :, None] * x.shape[2] + places
    through[np.isneginf(scores)] = 0
    expected = np.bincount(target.reshape(-1), through.reshape(-1), x.size).reshape(x.shape)
    result = (np.exp(x) - expected.astype(x.dtype)) * grad[:, None]
    impossible = np.isposinf(losses)[:, None]
    result[np.isneginf(x) | impossible] = np.nan
    unread = np.arange(len(x))[:, None, None] >= np.array(steps)[:, None]
    return np.where(unread | impossible if zero_infinity else unread, x.dtype.type(0), result)


def _endings(scores: Any, no_leap: Any, steps: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """Log-likelihoods of all endings from each step on: the same walk as the beginnings, from the other end."""
    endings = np.full_like(scores, -np.inf)
    last, end = np.array(steps) - 1, 2 * np.array(lengths)[:, None]
    place = np.arange(scores.shape[2])
    at_end = (place == end) | (place == end - 1)
    # From a place one leaps to where one could leap from there.
    no_leap = np.concatenate([no_leap[:, :2], no_leap[:, :1:-1]], axis=1)
    for t in range(len(scores) - 1, -1, -1):
        if t + 1 < len(scores):
            np.add(_moved(endings[t + 1, :, ::-1], no_leap)[:, ::-1], scores[t], out=endings[t])
        starts = (last == t)[:, None] & at_end
        endings[t][starts] = scores[t][starts]
    return endings
