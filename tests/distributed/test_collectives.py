"""Every collective on two ranks: whygrad on MPI against PyTorch on gloo."""

from __future__ import annotations

import pytest
from collective_cases import BACKEND_ERRORS, DIFFERENTIABLE, LINES, derivative, line
from rank_pairs import needs_mpi, outcomes, same

pytestmark = needs_mpi


@pytest.mark.parametrize("text", LINES)
def test_line(text: str) -> None:
    ours, theirs = outcomes("whygrad", line, text), outcomes("torch", line, text)
    assert same(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("text", BACKEND_ERRORS)
def test_error_of_a_backend(text: str) -> None:
    ours, theirs = outcomes("whygrad", line, text), outcomes("torch", line, text)
    assert [(kind, [words[0].replace("MPI", "Gloo")]) for kind, words in ours] == [tuple(error) for error in theirs]


@pytest.mark.parametrize("text", DIFFERENTIABLE)
def test_differentiable(text: str) -> None:
    ours, theirs = outcomes("whygrad", derivative, text), outcomes("torch", derivative, text)
    assert same(ours, theirs), (ours, theirs)
    assert ours[0][1] is not None


def test_a_strided_tensor_keeps_its_neighbours() -> None:
    """gloo writes into what lies between."""
    text = "y = torch.zeros(4, 3); x = y[:, ::2]; x += 1; dist.all_reduce(x); x = y"
    for dtype, values in outcomes("whygrad", line, text):
        assert (dtype, values.tolist()) == ("float32", [[2, 0, 2]] * 4)
