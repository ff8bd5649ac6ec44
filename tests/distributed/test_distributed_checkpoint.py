"""ZeroRedundancyOptimizer, and checkpoints that another number of ranks loads."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from rank_pairs import needs_mpi, outcomes, plain, same
from training_cases import batch, mlp, part_of

import whygrad
from whygrad.distributed import checkpoint

pytestmark = needs_mpi


def zero(torch: Any, dist: Any, rank: int, kind: str, is_sharded: bool = True) -> Any:
    """Weights after some steps, and the consolidated state, which a second optimizer goes on from."""
    optim = importlib.import_module(f"{dist.__name__}.optim")
    torch.manual_seed(0)
    model = part_of(torch, "nn.parallel").DistributedDataParallel(mlp(torch))

    def make() -> Any:
        if is_sharded:
            return optim.ZeroRedundancyOptimizer(model.parameters(), getattr(torch.optim, kind), lr=0.01)
        return getattr(torch.optim, kind)(model.parameters(), lr=0.01)

    optimizer = make()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    saved: Any = None
    for step in range(4):
        optimizer.zero_grad()
        x, y = batch(torch, "mlp", step, rank)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()
        if step == 1 and is_sharded:
            optimizer.consolidate_state_dict(to=0)
            saved = [optimizer.state_dict() if rank == 0 else None]
            dist.broadcast_object_list(saved, 0)
            optimizer = make()
            optimizer.load_state_dict(saved[0])
            schedule.optimizer = optimizer
    return [p.detach() for p in model.parameters()], None if saved is None else sorted(saved[0]["state"])


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_zero_redundancy(kind: str) -> None:
    ours, whole, theirs = (outcomes("whygrad", zero, kind), outcomes("whygrad", zero, kind, False), outcomes("torch", zero, kind))
    assert same(ours[0], ours[1])
    assert same(ours[0][0], whole[0][0], 1e-6)
    assert same(ours, theirs, 1e-4)


def refused(torch: Any, dist: Any, rank: int) -> None:
    optim = importlib.import_module(f"{dist.__name__}.optim")
    optim.ZeroRedundancyOptimizer(torch.nn.Linear(2, 2).parameters(), torch.optim.Adam, lr=0.1).state_dict()


def test_a_state_that_was_not_consolidated() -> None:
    assert outcomes("whygrad", refused) == outcomes("torch", refused)


def saves(torch: Any, dist: Any, rank: int, folder: str, times: int) -> Any:
    dcp, states = (importlib.import_module(f"{dist.__name__}.checkpoint{part}") for part in ("", ".state_dict"))
    torch.manual_seed(5)
    model = part_of(torch, "nn.parallel").DistributedDataParallel(mlp(torch))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(times):
        x, y = batch(torch, "mlp", step, rank)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        weights, state = states.get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optim": state, "step": step}, checkpoint_id=folder)
    return [p.detach() for p in model.parameters()]


def loads(torch: Any, dist: Any, rank: int, folder: str) -> Any:
    dcp, states = (importlib.import_module(f"{dist.__name__}.checkpoint{part}") for part in ("", ".state_dict"))
    torch.manual_seed(99)
    model = mlp(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
    weights, state = states.get_state_dict(model, optimizer)
    everything = {"model": weights, "optim": state, "step": 0}
    dcp.load(everything, checkpoint_id=folder)
    states.set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=state)
    momentum = [optimizer.state[p]["exp_avg"] for p in model.parameters()]
    return [p.detach() for p in model.parameters()], everything["step"], optimizer.param_groups[0]["lr"], momentum


def test_a_checkpoint_of_two_ranks_for_one_and_two(tmp_path: Path) -> None:
    theirs = str(tmp_path / "torch")
    weights = outcomes("whygrad", saves, str(tmp_path), 2)
    assert len(list(tmp_path.glob("__*.distcp"))) == 2  # those of the first save are gone
    pair = outcomes("whygrad", loads, str(tmp_path))
    alone = plain(loads(whygrad, whygrad.distributed, 0, str(tmp_path)))
    for found in (*pair, alone):
        assert same(found[0], weights[0])
        assert found[1:3] == [1, 0.01]
    outcomes("torch", saves, theirs, 2)
    assert same(pair, outcomes("torch", loads, theirs), 1e-4)


def test_what_a_checkpoint_does_not_hold(tmp_path: Path) -> None:
    nested = {"c/d": whygrad.ones(2, dtype=whygrad.bfloat16), "e": [1, "x"]}
    checkpoint.save({"a": whygrad.ones(3), "b": nested}, checkpoint_id=tmp_path)
    into = {"a": whygrad.zeros(3), "b": {"c/d": whygrad.zeros(2, dtype=whygrad.bfloat16), "e": [0, ""]}}
    checkpoint.load(into, checkpoint_id=tmp_path)
    assert into["a"].tolist() == [1, 1, 1]
    assert into["b"]["c/d"].tolist() == [1, 1]
    assert into["b"]["e"] == [1, "x"]
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: z"):
        checkpoint.load({"z": whygrad.zeros(1)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Size mismatch for a"):
        checkpoint.load({"a": whygrad.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="there is no checkpoint"):
        checkpoint.load({"a": whygrad.zeros(2)}, checkpoint_id=tmp_path / "nowhere")
