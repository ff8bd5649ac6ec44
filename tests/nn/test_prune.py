"""torch.nn.utils.prune against torch: the same calls on both, then names, masks, values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import whygrad
import whygrad.nn.utils.prune


def network(lib: Any) -> Any:
    lib.manual_seed(0)
    return lib.nn.Sequential(lib.nn.Linear(4, 6), lib.nn.Conv1d(6, 3, 2), lib.nn.Linear(2, 2))


def twice(lib: Any, prune: Any, m: Any) -> None:
    prune.l1_unstructured(m[0], "weight", amount=0.3)
    prune.random_unstructured(m[0], "weight", amount=4)
    prune.ln_structured(m[0], "weight", amount=1, n=2, dim=0)


def structured_twice(lib: Any, prune: Any, m: Any) -> None:
    prune.random_structured(m[1], "weight", amount=2, dim=1)
    prune.ln_structured(m[1], "weight", amount=1, n=1, dim=-2)


def globally(lib: Any, prune: Any, m: Any) -> None:
    prune.l1_unstructured(m[0], "bias", amount=1)
    prune.global_unstructured([(m[0], "weight"), (m[0], "bias"), (m[2], "weight")], prune.L1Unstructured, amount=0.5)


def made_final(lib: Any, prune: Any, m: Any) -> None:
    prune.l1_unstructured(m[0], "weight", amount=0.5)
    prune.random_unstructured(m[2], "bias", amount=0.5)
    prune.remove(m[0], "weight")


def by_scores(lib: Any, prune: Any, m: Any) -> None:
    scores = lib.arange(24.0).reshape(6, 4)
    prune.l1_unstructured(m[0], "weight", amount=5, importance_scores=scores)
    prune.ln_structured(m[1], "weight", 1, 2, 0, importance_scores=lib.arange(36.0).reshape(3, 6, 2))
    prune.global_unstructured([(m[2], "weight")], prune.L1Unstructured, {(m[2], "weight"): lib.eye(2)}, amount=2)


def by_mask(lib: Any, prune: Any, m: Any) -> None:
    prune.custom_from_mask(m[2], "weight", lib.tensor([[1, 0], [0, 1]]))
    prune.identity(m[2], "bias")


def nothing(lib: Any, prune: Any, m: Any) -> None:
    prune.l1_unstructured(m[0], "weight", amount=0)
    prune.random_structured(m[1], "weight", amount=0.0, dim=0)


@pytest.mark.parametrize("change", [twice, structured_twice, globally, made_final, by_scores, by_mask, nothing])
def test_pruned_networks(change: Callable[..., None]) -> None:
    found = []
    for lib in (torch, whygrad):
        prune = lib.nn.utils.prune
        model = network(lib)
        change(lib, prune, model)
        x = lib.arange(4.0) - 1.5
        out = model[2](model[1](model[0](x.expand(3, 4)).t().unsqueeze(0)))
        out.sum().backward()
        found.append({
            "pruned": prune.is_pruned(model), "names": [name for name, _ in model.named_parameters()],
            "hooks": [[type(hook).__name__ for hook in part._forward_pre_hooks.values()] for part in model],
            **{name: value.detach().numpy() for name, value in model.state_dict().items()},
            **{f"{name}.grad": None if p.grad is None else p.grad.numpy() for name, p in model.named_parameters()},
            **{f"{i} {name}": getattr(part, name).detach().numpy()
               for i, part in enumerate(model) for name in ("weight", "bias")}})
    assert list(found[0]) == list(found[1])
    for name, expected in found[0].items():
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(found[1][name], expected, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert found[1][name] == expected, name


@pytest.mark.parametrize("call", [
    lambda prune, m: prune.l1_unstructured(m[0], "weight", amount=-1),
    lambda prune, m: prune.l1_unstructured(m[0], "weight", amount=1.5),
    lambda prune, m: prune.l1_unstructured(m[0], "weight", amount="a"),
    lambda prune, m: prune.l1_unstructured(m[0], "weight", amount=25),
    lambda prune, m: prune.random_structured(m[0], "bias", 1, 0),
    lambda prune, m: prune.random_structured(m[0], "weight", 1, 2),
    lambda prune, m: prune.remove(m[0], "weight"),
    lambda prune, m: prune.global_unstructured(3, prune.L1Unstructured),
    lambda prune, m: prune.global_unstructured([(m[0], "weight")], prune.L1Unstructured, 3),
    lambda prune, m: prune.global_unstructured([(m[0], "weight")], prune.RandomStructured, amount=1),
    lambda prune, m: prune.custom_from_mask(m[0], "weight", m[0].bias),
    lambda prune, m: prune.PruningContainer().add_pruning_method(3),
    lambda prune, m: prune.BasePruningMethod(),
    lambda prune, m: prune._validate_pruning_amount_init(amount=-0.1),
    lambda prune, m: prune._validate_pruning_amount(amount=20, tensor_size=19),
])
def test_errors(call: Callable[..., Any]) -> None:
    texts = []
    for lib in (torch, whygrad):
        with pytest.raises(Exception) as caught:
            call(lib.nn.utils.prune, network(lib))
        texts.append((caught.type, str(caught.value).replace("whygrad.", "torch.")))
    assert texts[0] == texts[1]


def test_number_of_pruned_parameters() -> None:
    for amount in (0, 3, 0.4, 1.0):
        ours, theirs = (lib.nn.utils.prune._compute_nparams_toprune(amount, 15) for lib in (whygrad, torch))
        assert ours == theirs


def test_a_method_of_ones_own() -> None:
    class Threshold(whygrad.nn.utils.prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            return default_mask * (t.abs() > 0.2)

    layer = whygrad.nn.Linear(3, 3)
    method = Threshold.apply(layer, "weight")
    assert (layer.weight != 0).equal(layer.weight_orig.abs() > 0.2)
    assert Threshold().prune(whygrad.tensor([0.1, 0.3])).tolist() == [0, pytest.approx(0.3)]
    method.remove(layer)
    assert isinstance(layer.weight, whygrad.nn.Parameter)
