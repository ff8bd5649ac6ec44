"""DistributedDataParallel on two ranks: against PyTorch's on gloo, and against one process with the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rank_pairs import needs_mpi, outcomes, same
from training_cases import branches, buffers, interrupted, layouts, notes_of_unused, refused, train, twice, uneven, view

import whygrad

pytestmark = needs_mpi

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "small buckets": {"bucket_cap_mb": 0.001}, "view": {"gradient_as_bucket_view": True},
    "unused": {"find_unused_parameters": True}, "static": {"static_graph": True}}


@pytest.mark.parametrize("model", ["mlp", "cnn", "gpt"])
def test_two_ranks_train_as_one_process(model: str) -> None:
    ours = outcomes("whygrad", train, model, {})
    alone = train(whygrad, None, None, model, {})
    assert same(ours[0], ours[1])
    assert np.allclose(ours[0][0], alone[0], rtol=2e-5)
    assert same(ours[0][1:], alone[1:], 1e-3)
    if model != "cnn":  # torch has no SyncBatchNorm for the CPU
        theirs = outcomes("torch", train, model, {})
        assert np.allclose(ours[0][0], theirs[0][0], rtol=2e-5)
        assert same(ours[0][1:], theirs[0][1:], 1e-3)


@pytest.mark.parametrize("options", OPTIONS)
def test_options(options: str) -> None:
    ours, theirs = outcomes("whygrad", train, "mlp", OPTIONS[options]), outcomes("torch", train, "mlp", OPTIONS[options])
    assert same(ours, theirs, 1e-4), (ours, theirs)


@pytest.mark.parametrize("hook", ["allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "own"])
def test_communication_hooks(hook: str) -> None:
    # torch has the hook for bfloat16 on GPUs only.
    ours = outcomes("whygrad", train, "mlp", {}, 3, hook)
    theirs = outcomes("torch", train, "mlp", {}, 3, "allreduce_hook" if hook == "bf16_compress_hook" else hook)
    assert same(ours, theirs, 2e-2 if "compress" in hook else 1e-4), (ours, theirs)


def test_power_sgd() -> None:
    """Of a rank as large as the smaller side of most matrices, it is nearly exact."""
    ours, exact = outcomes("whygrad", train, "mlp", {}, 8, "power"), outcomes("whygrad", train, "mlp", {}, 8)
    assert same(ours[0], ours[1])
    assert np.allclose(ours[0][0], exact[0][0], rtol=0.02)
    assert not np.allclose(ours[0][0], exact[0][0], rtol=1e-6)


def test_gradients_that_accumulate() -> None:
    arguments = "mlp", {}, 3, "", 2
    ours, theirs = outcomes("whygrad", train, *arguments), outcomes("torch", train, *arguments)
    assert same(ours, theirs, 1e-4)


@pytest.mark.parametrize("tasks", [[[0, 0], [0, 0]], [[0, 1, 0], [1, 1, 0]]], ids=["the same", "another in each rank"])
@pytest.mark.parametrize("options", [{"find_unused_parameters": True},
                                     {"find_unused_parameters": True, "gradient_as_bucket_view": True}], ids=["plain", "view"])
def test_unused_parameters(tasks: list[list[int]], options: dict[str, Any]) -> None:
    ours, theirs = outcomes("whygrad", branches, options, tasks), outcomes("torch", branches, options, tasks)
    assert same(ours, theirs), (ours, theirs)


def test_static_graph_with_unused_parameters() -> None:
    options, tasks = {"static_graph": True}, [[0, 0, 0], [0, 0, 0]]
    ours, theirs = outcomes("whygrad", branches, options, tasks), outcomes("torch", branches, options, tasks)
    assert same(ours, theirs), (ours, theirs)


def test_unused_parameters_are_an_error() -> None:
    tasks = [[0, 0], [0, 0]]
    ours, theirs = outcomes("whygrad", branches, {}, tasks), outcomes("torch", branches, {}, tasks)
    assert ours == theirs
    assert ours[0][1][0].startswith("Expected to have finished reduction in the prior iteration")


def test_unused_parameters_by_name_and_cause() -> None:
    first, second = outcomes("whygrad", notes_of_unused)
    assert first == second
    assert [note.split("`")[1] for note in first] == ["cut.weight", "cut.bias", "never.weight", "never.bias"]
    assert "taken out of the graph by .detach()" in first[0]
    assert "does not depend on it" in first[2]


def test_several_backwards() -> None:
    assert same(outcomes("whygrad", twice), outcomes("torch", twice))


def test_gradients_are_views_of_buckets() -> None:
    ours, theirs = outcomes("whygrad", view), outcomes("torch", view)
    assert same([values for values, _ in ours], [values for values, _ in theirs])


@pytest.mark.parametrize("what", ["no parameters", "lazy", "devices", "hook"])
def test_refusals(what: str) -> None:
    assert outcomes("whygrad", refused, what) == outcomes("torch", refused, what)


@pytest.mark.parametrize("what", ["sizes", "strides", "dtype"])
def test_models_that_differ(what: str) -> None:
    """PyTorch says so in one of the ranks, and the other one waits for it."""
    for rank, (kind, words) in enumerate(outcomes("whygrad", refused, what)):
        assert kind == "RuntimeError"
        assert words[0].startswith(f"[{rank}]: params[0] in this process with sizes")
        assert words[0].endswith(f"appears not to match {what} of the same param in process {1 - rank}.")


@pytest.mark.parametrize("options", OPTIONS)
def test_dtypes_and_layouts(options: str) -> None:
    ours, theirs = outcomes("whygrad", layouts, OPTIONS[options]), outcomes("torch", layouts, OPTIONS[options])
    assert same(ours, theirs, 1e-3), (ours, theirs)


def test_a_backward_that_was_interrupted() -> None:
    ours, theirs = outcomes("whygrad", interrupted), outcomes("torch", interrupted)
    assert ours == theirs
    assert ours[0]


UNEVEN: dict[str, tuple[Any, ...]] = {
    "fewer in rank 1": ([3, 2], {}, {}), "fewer in rank 0": ([2, 4], {}, {}), "none in rank 0": ([0, 3], {}, {}),
    "as many": ([3, 3], {}, {}), "divided by those that train": ([2, 4], {}, {"divide_by_initial_world_size": False}),
    "view": ([2, 4], {"gradient_as_bucket_view": True}, {}), "unused": ([1, 4], {"find_unused_parameters": True}, {}),
    "static": ([1, 4], {"static_graph": True}, {}), "small buckets": ([4, 1], {"bucket_cap_mb": 0.001}, {}),
    "buffers": ([2, 4], {}, {}, "batch norm"), "buffers of rank 0": ([4, 1], {}, {}, "batch norm"),
    "accumulated": ([2, 4], {}, {}, "accumulated"), "an error": ([2, 4], {}, {"throw_on_early_termination": True}),
    "not enabled": ([2, 2], {}, {"enable": False}), "with ZeRO": ([2, 4], {}, {}, "zero")}


@pytest.mark.parametrize("case", UNEVEN)
def test_ranks_with_fewer_batches(case: str) -> None:
    ours, theirs = outcomes("whygrad", uneven, *UNEVEN[case]), outcomes("torch", uneven, *UNEVEN[case])
    assert same(ours, theirs, 1e-4), (ours, theirs)


@pytest.mark.parametrize("is_broadcast", [True, False])
def test_buffers(is_broadcast: bool) -> None:
    assert same(outcomes("whygrad", buffers, is_broadcast), outcomes("torch", buffers, is_broadcast), 1e-5)
