"""CTC on NumPy arrays: the forward-backward algorithm, each step on the whole batch and all states at once.

The states of a label sequence are its labels with blanks around and between them: "_a_b_" for "ab". In each step a path
stays in its state, advances by one, or skips the blank between two different labels. As in the literature, alpha are the
likelihoods of path prefixes and beta those of path suffixes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.base.index_width import intp


class States(NamedTuple):
    """The states of all samples."""

    labels: np.ndarray  # (batch, states)
    scores: np.ndarray  # (steps, batch, states): log-probabilities; -inf for states beyond the end of a sequence
    no_skip: np.ndarray  # (batch, states): 0 if a skip can lead to the state, else -inf


def _states(x: Any, labels: Any, lengths: tuple[int, ...], blank: int) -> States:
    batch, longest = labels.shape
    states = np.full((batch, 2 * longest + 1), blank, np.int64)
    states[:, 1::2] = labels
    behind = np.arange(states.shape[1]) > 2 * np.array(lengths)[:, None]
    states[behind] = blank
    scores = np.where(behind, x.dtype.type(-np.inf), np.take_along_axis(x, states[None], axis=2))
    no_skip = np.full(states.shape, -np.inf, x.dtype)
    no_skip[:, 2:][states[:, 2:] != states[:, :-2]] = 0
    return States(states, scores, no_skip)


def _advanced(before: Any, no_skip: Any) -> Any:
    """Log-likelihoods after one more step, without the scores of that step."""
    after = before.copy()
    after[:, 1:] = np.logaddexp(after[:, 1:], before[:, :-1])
    after[:, 2:] = np.logaddexp(after[:, 2:], before[:, :-2] + no_skip[:, 2:])
    return after


@quiet
def ctc_loss(x: Any, labels: Any, *, steps: tuple[int, ...], lengths: tuple[int, ...], blank: int,
             zero_infinity: bool) -> tuple[Any, Any]:
    _, scores, no_skip = _states(x, labels, lengths, blank)
    log_alpha = np.full_like(scores, -np.inf)
    log_alpha[0, :, :2] = scores[0, :, :2]
    for t in range(1, len(scores)):
        np.add(_advanced(log_alpha[t - 1], no_skip), scores[t], out=log_alpha[t])
    samples, last, end = np.arange(len(steps)), np.array(steps) - 1, 2 * np.array(lengths)
    # A path ends in the last blank or, if there is one, in the last label.
    likelihood = np.logaddexp(log_alpha[last, samples, end],
                              np.where(end > 0, log_alpha[last, samples, end - 1], -np.inf).astype(x.dtype))
    without_steps = np.where(end > 0, np.inf, -0.0).astype(x.dtype)
    return np.where(last < 0, without_steps, -likelihood), log_alpha


@quiet
def ctc_loss_backward(grad: Any, x: Any, labels: Any, losses: Any, log_alpha: Any, *, steps: tuple[int, ...],
                      lengths: tuple[int, ...], blank: int, zero_infinity: bool) -> Any:
    states, scores, no_skip = _states(x, labels, lengths, blank)
    through = np.exp(log_alpha + _log_beta(scores, no_skip, steps, lengths) + losses[:, None] - scores)
    # Several states may have the same label, such as the blank: their contributions are added.
    target = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])[:, :, None] * x.shape[2] + states
    through[np.isneginf(scores)] = 0
    expected = np.bincount(intp(target.reshape(-1)), through.reshape(-1), x.size).reshape(x.shape)
    result = (np.exp(x) - expected.astype(x.dtype)) * grad[:, None]
    impossible = np.isposinf(losses)[:, None]
    result[np.isneginf(x) | impossible] = np.nan
    unread = np.arange(len(x))[:, None, None] >= np.array(steps)[:, None]
    return np.where(unread | impossible if zero_infinity else unread, x.dtype.type(0), result)


def _log_beta(scores: Any, no_skip: Any, steps: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """log_beta, computed like log_alpha with steps and states reversed."""
    log_beta = np.full_like(scores, -np.inf)
    last, end = np.array(steps) - 1, 2 * np.array(lengths)[:, None]
    state = np.arange(scores.shape[2])
    at_end = (state == end) | (state == end - 1)
    # In reverse, a skip leaves the state that it leads to in forward direction.
    no_skip = np.concatenate([no_skip[:, :2], no_skip[:, :1:-1]], axis=1)
    for t in range(len(scores) - 1, -1, -1):
        if t + 1 < len(scores):
            np.add(_advanced(log_beta[t + 1, :, ::-1], no_skip)[:, ::-1], scores[t], out=log_beta[t])
        starts = (last == t)[:, None] & at_end
        log_beta[t][starts] = scores[t][starts]
    return log_beta
