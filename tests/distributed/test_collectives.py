"""Every collective on two ranks: whygrad on MPI against PyTorch on gloo."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

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


def dropped_handles(torch: Any, dist: Any, rank: int) -> bool:
    """Memory of tensors that were dropped in the middle of a collective: does MPI write into what is there now?"""
    numbers = []
    for _ in range(30):
        time.sleep(0.004 * rank)
        dist.all_reduce(torch.full((1000000,), 2.0), async_op=True)
        numbers.append(torch.full((1000000,), 3.0))
    dist.barrier()
    time.sleep(0.2)
    dist.barrier()
    return all(bool((x == 3).all()) for x in numbers)


def test_handles_may_be_dropped() -> None:
    assert outcomes("whygrad", dropped_handles) == [True, True]


def many_groups(torch: Any, dist: Any, rank: int) -> int:
    """How many communicators some groups have, one after the other: MPI has no more than some thousand."""
    communicators = set()
    for _ in range(40):
        group = dist.new_group([0, 1])
        communicators.add(group.comm.handle)
        dist.destroy_process_group(group)
    return len(communicators)


def test_groups_that_are_destroyed_leave_nothing() -> None:
    assert max(outcomes("whygrad", many_groups)) < 10


def after_destruction(torch: Any, dist: Any, rank: int, text: str) -> None:
    group = dist.new_group([0, 1])
    dist.destroy_process_group(group)
    exec(text, {"dist": dist, "g": group, "x": torch.ones(1)})


DESTROYED = {"dist.all_reduce(x, group=g)": ("RuntimeError", "this process group was destroyed"),
             "dist.destroy_process_group(g)": ("ValueError", "Invalid process group specified"),
             "dist.get_rank(g)": ("ValueError", "is not registered, please create group with torch.distributed.new_group API"),
             "dist.get_backend(g)": ("ValueError", "is not initialized in the world group map. Please initialize the group")}


@pytest.mark.parametrize("text", DESTROYED)
def test_a_destroyed_group(text: str) -> None:
    for kind, words in outcomes("whygrad", after_destruction, text):
        assert kind == DESTROYED[text][0]
        assert DESTROYED[text][1] in words[0]


def in_a_forked_child(torch: Any, dist: Any, rank: int) -> Any:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def child() -> None:
        try:
            dist.all_reduce(torch.ones(1))
        except RuntimeError as error:
            answers.put((dist.is_initialized(), dist.get_rank(), str(error)))

    process = context.Process(target=child)
    process.start()
    process.join()
    dist.barrier()  # the parents can still communicate
    return answers.get()


def test_a_forked_child_is_no_rank() -> None:
    for rank, (is_initialized, said, error) in enumerate(outcomes("whygrad", in_a_forked_child)):
        assert is_initialized
        assert said == rank
        assert error.startswith("this process was forked from a rank after init_process_group")


def test_a_strided_tensor_keeps_its_neighbours() -> None:
    """gloo writes into what lies between."""
    text = "y = torch.zeros(4, 3); x = y[:, ::2]; x += 1; dist.all_reduce(x); x = y"
    for dtype, values in outcomes("whygrad", line, text):
        assert (dtype, values.tolist()) == ("float32", [[2, 0, 2]] * 4)
