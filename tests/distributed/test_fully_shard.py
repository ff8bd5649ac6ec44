"""fully_shard on two ranks: against PyTorch's on gloo, and against one process with the whole batch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_pairs import needs_mpi, outcomes, plain, same
from training_cases import MODELS, batch, train

import whygrad

pytestmark = needs_mpi


def part(dist: Any, name: str) -> Any:
    return importlib.import_module(f"{dist.__name__}.{name}")


def split_model(torch: Any, dist: Any, name: str) -> Any:
    """A model whose layers are sharded one by one, and the rest together."""
    torch.manual_seed(3)
    model = MODELS[name](torch)
    layers = model.blocks.layers if name == "gpt" else [layer for layer in model if isinstance(layer, torch.nn.Linear)][:2]
    for layer in layers:
        part(dist, "fsdp").fully_shard(layer)
    part(dist, "fsdp").fully_shard(model)
    return model


def whole(t: Any) -> Any:
    return t.full_tensor() if hasattr(t, "full_tensor") else t


def sharded(torch: Any, dist: Any, rank: int, name: str, clip: float = 0, accumulated: int = 1, kind: str = "AdamW") -> Any:
    """Losses of the whole batch, norms that were clipped, gradients and weights at the end, and what a rank keeps of each."""
    model = split_model(torch, dist, name)
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
    losses, norms = [], []
    for step in range(4):
        optimizer.zero_grad()
        loss = 0
        for i in range(accumulated):
            model.set_requires_gradient_sync(i + 1 == accumulated)
            x, y = batch(torch, name, step * accumulated + i, rank)
            one = torch.nn.functional.cross_entropy(model(x), y) / accumulated
            one.backward()
            loss = loss + one.detach()
        if clip:
            norms.append(float(whole(torch.nn.utils.clip_grad_norm_(model.parameters(), clip))))
        dist.all_reduce(loss)
        losses.append(float(loss) / 2)
        optimizer.step()
    parameters = list(model.parameters())
    gradients, weights = [whole(p.grad) for p in parameters], [whole(p.detach()) for p in parameters]
    return (losses, norms, [float(g.norm()) for g in gradients], [float(w.norm()) for w in weights],
            [list(p.shape) for p in parameters], [list(p.to_local().shape) for p in parameters],
            [list(p.grad.to_local().shape) for p in parameters])


@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_split_ranks_train_as_one_process(name: str) -> None:
    ours, theirs = outcomes("whygrad", sharded, name), outcomes("torch", sharded, name)
    alone = train(whygrad, None, None, name, {})
    assert same(ours, theirs, 1e-3), (ours, theirs)
    assert np.allclose(ours[0][0], alone[0], rtol=2e-5)
    assert same([ours[0][2], ours[0][3]], list(alone[1:]), 1e-3)


@pytest.mark.parametrize(("clip", "accumulated", "kind"), [(0.1, 1, "AdamW"), (0, 2, "AdamW"), (0, 1, "SGD")])
def test_options(clip: float, accumulated: int, kind: str) -> None:
    arguments = "mlp", clip, accumulated, kind
    ours, theirs = outcomes("whygrad", sharded, *arguments), outcomes("torch", sharded, *arguments)
    assert same(ours, theirs, 1e-3), (ours, theirs)


def what_it_is(torch: Any, dist: Any, rank: int) -> Any:
    model, module = split_model(torch, dist, "mlp"), part(dist, "fsdp").FSDPModule
    p = next(model.parameters())
    with torch.no_grad():
        doubled = p * 2 + p.exp() - torch.tensor(1.0)
        p.mul_(3)
    return ([isinstance(inner, module) for inner in model.modules()], isinstance(p, torch.nn.Parameter), type(p).__name__,
            p.numel(), repr(p.placements), p.is_leaf, p.requires_grad, whole(doubled).norm(), p.to_local(), p.size(0), len(p),
            sorted(model.state_dict()), type(model.state_dict()["0.weight"]).__name__, p.dtype == torch.float32)


def test_parameters_are_split() -> None:
    assert same(outcomes("whygrad", what_it_is), outcomes("torch", what_it_is), 1e-5)


REFUSED = {"p.sum()": "sum of a DTensor", "p @ p.t()": "of a DTensor", "p + torch.ones(40, 12)": "mixed torch.Tensor and DTensor",
           "fsdp.FullyShardedDataParallel(torch.nn.Linear(2, 2))": "no attribute 'FullyShardedDataParallel'",
           "fsdp.fully_shard(torch.nn.Linear(2, 2), mp_policy=1)": "fully_shard(mp_policy",
           "torch.nn.Linear(12, 2)(p)": "linear of a DTensor"}


def refused(torch: Any, dist: Any, rank: int, text: str) -> Any:
    p = next(split_model(torch, dist, "mlp").parameters())
    try:
        eval(text, {"p": p, "fsdp": part(dist, "fsdp"), "torch": torch})
    except (AttributeError, RuntimeError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_there_says_so(text: str) -> None:
    for words in outcomes("whygrad", refused, text):
        assert REFUSED[text] in words


def states(torch: Any, dist: Any, rank: int, options: dict[str, Any]) -> Any:
    """State dicts after a step: their keys and shapes; and a model that goes on from them."""
    state_dict = part(dist, "checkpoint.state_dict")
    given = state_dict.StateDictOptions(**options)
    model = split_model(torch, dist, "mlp")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    step(torch, model, optimizer, rank, 0)
    weights, moments = state_dict.get_state_dict(model, optimizer, options=given)
    shapes = [{key: list(value.shape) for key, value in weights.items()},
              {key: sorted(value) for key, value in moments.get("state", {}).items()}]
    step(torch, model, optimizer, rank, 1)
    back = state_dict.StateDictOptions(full_state_dict=given.full_state_dict, broadcast_from_rank0=given.cpu_offload)
    if given.full_state_dict:  # those that are not whole share their memory with the model
        state_dict.set_model_state_dict(model, weights, options=back)
        step(torch, model, optimizer, rank, 2)
    return shapes, [whole(p.detach()) for p in model.parameters()]


def step(torch: Any, model: Any, optimizer: Any, rank: int, number: int) -> None:
    x, y = batch(torch, "mlp", number, rank)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


@pytest.mark.parametrize("options", [{}, {"full_state_dict": True}, {"full_state_dict": True, "cpu_offload": True}],
                         ids=["split", "whole", "in rank 0"])
def test_state_dicts(options: dict[str, Any]) -> None:
    ours, theirs = outcomes("whygrad", states, options), outcomes("torch", states, options)
    assert same(ours, theirs, 1e-4), (ours, theirs)


def saves(torch: Any, dist: Any, rank: int, folder: str, goes_on: bool) -> Any:
    """A checkpoint of split weights and moments, and a step after it, in the same model or in one that loads it."""
    dcp, state_dict = part(dist, "checkpoint"), part(dist, "checkpoint.state_dict")
    model = split_model(torch, dist, "mlp")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if goes_on:
        weights, moments = state_dict.get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optim": moments}, checkpoint_id=folder)
        state_dict.set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    else:
        step(torch, model, optimizer, rank, 0)
        weights, moments = state_dict.get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optim": moments}, checkpoint_id=folder)
    step(torch, model, optimizer, rank, 1)
    return [whole(p.detach()) for p in model.parameters()]


def test_a_checkpoint_of_split_ranks(tmp_path: Path) -> None:
    ours = outcomes("whygrad", saves, str(tmp_path), False)
    assert same(outcomes("whygrad", saves, str(tmp_path), True), ours, 1e-6)
    assert same(outcomes("torch", saves, str(tmp_path / "torch"), False), ours, 1e-4)
    torch, dcp = whygrad, whygrad.distributed.checkpoint
    model = MODELS["mlp"](torch)  # one process, which is not split
    into = {"model": dcp.state_dict.get_model_state_dict(model)}
    dcp.load(into, checkpoint_id=tmp_path)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    _, moments = dcp.state_dict.get_state_dict(model, optimizer)
    loaded = {"optim": moments}
    dcp.load(loaded, checkpoint_id=tmp_path)
    dcp.state_dict.set_optimizer_state_dict(model, optimizer, moments)
    x, y = batch(torch, "mlp", 1, None)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    assert same([plain(p.detach()) for p in model.parameters()], ours[0], 1e-4)
