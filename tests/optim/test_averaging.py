"""AveragedModel, its averaging functions, update_bn: against torch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import whygrad
from whygrad.optim import swa_utils

LIBRARIES = (torch, whygrad)

AVERAGES: dict[str, Any] = {
    "default": lambda s: {},
    "swa": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "swa multi": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "ema": lambda s: {"avg_fn": s.get_ema_avg_fn(0.7)},
    "ema multi": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.7)},
    "ema far": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.2)},
    "own": lambda s: {"avg_fn": lambda averaged, current, count: averaged * 0.5 + current * (count + 1)},
}


def model(library: Any, dtype: Any, seed: int = 0) -> Any:
    nn = library.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    if dtype is np.float64:
        net = net.double()
    randomize(net, library, seed, dtype)
    return net


def randomize(net: Any, library: Any, seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    with library.no_grad():
        for p in net.parameters():
            p.copy_(library.from_numpy(rng.standard_normal(tuple(p.shape)).astype(dtype)))


def batch(library: Any, dtype: Any, seed: int) -> Any:
    return library.from_numpy(np.random.default_rng(seed).standard_normal((5, 3)).astype(dtype))


def values(state: Any) -> dict[str, np.ndarray]:
    return {key: value.detach().numpy() for key, value in state.items()}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_averaged_model(average: str, use_buffers: bool, dtype: Any) -> None:
    if average == "swa multi" and use_buffers:
        pytest.skip("raises: see test_errors")
    states = []
    for library in LIBRARIES:
        net = model(library, dtype)
        utils = library.optim.swa_utils
        averaged = utils.AveragedModel(net, use_buffers=use_buffers, **AVERAGES[average](utils))
        for i in range(4):
            randomize(net, library, i, dtype)
            net(batch(library, dtype, i))
            averaged.update_parameters(net)
        averaged.eval()
        states.append((values(averaged.state_dict()), averaged(batch(library, dtype, 9)).detach().numpy()))
    (theirs, their_output), (ours, our_output) = states
    assert list(theirs) == list(ours)
    for key, value in theirs.items():
        assert value.dtype == ours[key].dtype
        np.testing.assert_allclose(ours[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
    np.testing.assert_allclose(our_output, their_output, rtol=1e-4, atol=1e-5)


def test_update_bn() -> None:
    stats = []
    for library in LIBRARIES:
        net = model(library, np.float64)
        net.eval()
        data = [batch(library, np.float64, i) for i in range(3)]
        library.optim.swa_utils.update_bn([(x, None) for x in data[:2]] + data[2:], net)
        assert not net.training
        assert net[1].momentum == 0.1
        stats.append(values(dict(net.named_buffers())))
    for key, value in stats[0].items():
        np.testing.assert_allclose(stats[1][key], value, rtol=1e-9, err_msg=key)


def test_update_bn_without_batch_norm_does_not_look_at_the_data() -> None:
    swa_utils.update_bn(iter(lambda: pytest.fail("looked"), None), whygrad.nn.Linear(1, 1))


def test_averages_leave_the_model_alone() -> None:
    net = model(whygrad, np.float32)
    before = copy.deepcopy(values(net.state_dict()))
    averaged = swa_utils.AveragedModel(net)
    averaged.update_parameters(net)
    randomize(averaged, whygrad, 5, np.float32)
    for key, value in before.items():
        np.testing.assert_array_equal(values(net.state_dict())[key], value)
    assert all(p.requires_grad for p in averaged.parameters())


@pytest.mark.parametrize("call", [
    lambda t: t.optim.swa_utils.get_ema_avg_fn(1.5),
    lambda t: t.optim.swa_utils.get_ema_multi_avg_fn(-0.1),
    lambda t: t.optim.swa_utils.AveragedModel(t.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
    lambda t: t.optim.swa_utils.get_swa_multi_avg_fn()([t.tensor(1)], [t.tensor(4)], t.tensor(2)),
    lambda t: t.optim.swa_utils.get_swa_multi_avg_fn()([t.tensor(1)], [t.tensor(4)], 2),
])
def test_errors(call: Any) -> None:
    texts = []
    for library in LIBRARIES:
        with pytest.raises((ValueError, AssertionError, RuntimeError)) as caught:
            call(library)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
