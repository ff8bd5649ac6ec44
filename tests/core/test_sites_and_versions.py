"""The line that a node, a new tensor or a write remembers, and the versions of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whygrad as torch
from whygrad.base.version import InferenceVersion, JointVersion, Version
from whygrad.core.node import row_node
from whygrad.core.tensor import grad_fn

F = torch.nn.functional


def leaf() -> Any:
    return torch.full((4, 4), 0.5, requires_grad=True)


# Rows begin to look for the user's frame where they know that it must be: each of these calls must be found by its own line.
RECORDED: list[Callable[[Any], Any]] = [
    lambda x: x * x, lambda x: x * 2.0, lambda x: 2.0 - x, lambda x: x / x, lambda x: -x, lambda x: x**2, lambda x: x @ x,
    lambda x: x.tanh(), lambda x: torch.tanh(x), lambda x: torch.tanh(input=x), lambda x: x.relu(), lambda x: F.relu(x),
    lambda x: F.relu(x, inplace=False), lambda x: torch.nn.ReLU()(x), lambda x: torch.add(x, x, alpha=2),
    lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(dim=-1, keepdim=True), lambda x: torch.mean(x, 1), lambda x: x.var(),
    lambda x: x.softmax(1), lambda x: F.log_softmax(x, dim=-1), lambda x: x.max(dim=0).values, lambda x: x.norm(),
    lambda x: x[1], lambda x: x[1:3], lambda x: x[[0, 2]], lambda x: x.T, lambda x: x.mT, lambda x: x.t(), lambda x: x.view(16),
    lambda x: x.view((2, 8)), lambda x: x.reshape(8, 2), lambda x: x.permute(1, 0), lambda x: x.transpose(0, 1),
    lambda x: x.expand(2, 4, 4), lambda x: x.unsqueeze(0), lambda x: x.squeeze(), lambda x: x.flatten(), lambda x: x.clone(),
    lambda x: x.to(torch.float64), lambda x: torch.cat([x, x]), lambda x: torch.stack([x, x]), lambda x: x.chunk(2)[0],
    lambda x: torch.where(x > 0, x, 0.0), lambda x: x.clamp(0, 1), lambda x: F.linear(x, x), lambda x: F.mse_loss(x, x * 0),
    lambda x: F.cross_entropy(x, x.detach()), lambda x: F.gelu(x), lambda x: F.layer_norm(x, (4,)),
    lambda x: torch.linalg.inv(x + torch.eye(4)),
    lambda x: torch.zeros(4, 4).copy_(x), lambda x: torch.zeros(4, 4).add_(x), lambda x: torch.einsum("ij,jk->ik", x, x),
]
CREATED: list[Callable[[], Any]] = [
    lambda: torch.ones(3), lambda: torch.zeros(3), lambda: torch.full((2,), 1.0), lambda: torch.arange(3),
    lambda: torch.tensor([1.0]), lambda: torch.randn(2), lambda: torch.zeros_like(torch.ones(2)),
    lambda: torch.from_numpy(np.ones(2)), lambda: leaf().detach(), lambda: leaf().data,
    lambda: torch.eye(2), lambda: torch.linspace(0, 1, 3),
]
WRITTEN: list[Callable[[Any], Any]] = [
    lambda t: t.add_(1), lambda t: t.mul_(t), lambda t: t.zero_(), lambda t: t.fill_(2.0), lambda t: t.copy_(torch.ones(4, 4)),
    lambda t: t.tanh_(), lambda t: torch.relu_(t), lambda t: t.__setitem__(0, 1.0), lambda t: t.__setitem__(0, torch.ones(4)),
    lambda t: t[0].add_(1), lambda t: t.clamp_(0, 1), lambda t: torch.add(t, 1, out=t), lambda t: t.normal_(),
]


@pytest.mark.parametrize("call", RECORDED, ids=range(len(RECORDED)))
def test_a_node_knows_the_line_of_its_call(call: Any) -> None:
    assert row_node(grad_fn(call(leaf())))[0].site[0] is call.__code__


@pytest.mark.parametrize("call", CREATED, ids=range(len(CREATED)))
def test_a_tensor_without_history_knows_where_it_comes_from(call: Any) -> None:
    assert call()._cause[0].site[0] is call.__code__


@pytest.mark.parametrize("call", WRITTEN, ids=range(len(WRITTEN)))
def test_memory_knows_the_line_of_its_last_write(call: Any) -> None:
    t = torch.ones(4, 4)
    call(t)
    assert t._version == 1
    assert t._version_counter.site[0] is call.__code__


def test_a_version_is_made_when_it_is_needed() -> None:
    x = leaf()
    fresh = x + 1
    assert fresh._lazy_version is None
    assert fresh._version == 0
    kept = fresh.tanh()  # which saves its result, not its argument
    assert fresh._lazy_version is None
    assert type(kept._lazy_version) is Version
    assert x[0]._version_counter is x.detach()._version_counter is x._version_counter
    with torch.no_grad():
        x.add_(1)
    assert x[0]._version == x._version == 1


def test_kinds_of_versions() -> None:
    with torch.inference_mode():
        made = torch.ones(2)
    assert type(made._lazy_version) is InferenceVersion
    i, j = torch.tensor([0, 1]), torch.tensor([1, 0])
    joint = JointVersion([i._version_counter, j._version_counter])
    before = joint.value
    j.add_(0)
    assert joint.value == before + 1
    assert joint.site is j._version_counter.site
