"""Layers and losses against torch: the same seed gives the same parameters, outputs, gradients and reprs."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, same_error

import whygrad
import whygrad.nn

rng = np.random.default_rng(1)


def f(*shape: int) -> np.ndarray:
    return rng.uniform(-2, 2, shape).astype(np.float32)


def p(*shape: int) -> np.ndarray:
    return rng.uniform(0.1, 0.9, shape).astype(np.float32)


INDEX = np.array([[0, 4, 1], [2, 2, 0]])

# constructor -> inputs
LAYERS: dict[str, tuple[Any, ...]] = {
    "Linear(3, 5)": (f(4, 3),),
    "Linear(3, 5, bias=False)": (f(2, 4, 3),),
    "Linear(3, 5, dtype=m.float64)": (f(4, 3).astype(np.float64),),
    "Bilinear(3, 2, 5)": (f(4, 3), f(4, 2)),
    "Bilinear(3, 2, 5, bias=False)": (f(4, 3), f(4, 2)),
    "Identity(3, a=2)": (f(4, 3),),
    "Flatten()": (f(4, 3, 2),),
    "Flatten(0, 1)": (f(4, 3, 2),),
    "Unflatten(1, (2, 3))": (f(4, 6),),
    "Embedding(5, 3)": (INDEX,),
    "Embedding(5, 3, padding_idx=1)": (INDEX,),
    "Embedding(5, 3, padding_idx=-1, scale_grad_by_freq=True)": (INDEX,),
    "Embedding(5, 3, max_norm=1.0, norm_type=1.0)": (INDEX,),
    "Dropout()": (f(4, 3),),
    "Dropout(0.2, inplace=False)": (f(4, 3),),
    "Dropout1d(0.2)": (f(4, 3, 2),),
    "Dropout2d(0.2)": (f(4, 3, 2, 2),),
    "Dropout3d(0.2)": (f(4, 3, 2, 2, 2),),
    "AlphaDropout(0.2)": (f(4, 3),),
    "FeatureAlphaDropout(0.2)": (f(4, 3, 2),),
    "LayerNorm(3)": (f(4, 3),),
    "LayerNorm((3, 2), eps=1e-3, bias=False)": (f(4, 3, 2),),
    "LayerNorm(3, elementwise_affine=False)": (f(4, 3),),
    "RMSNorm(3)": (f(4, 3),),
    "GroupNorm(2, 4)": (f(3, 4, 2),),
    "GroupNorm(2, 4, affine=False)": (f(3, 4, 2),),
    "BatchNorm1d(3)": (f(4, 3),),
    "BatchNorm1d(3, momentum=None)": (f(4, 3, 2),),
    "BatchNorm1d(3, track_running_stats=False, affine=False)": (f(4, 3),),
    "BatchNorm2d(3, bias=False)": (f(4, 3, 2, 2),),
    "BatchNorm3d(3)": (f(4, 3, 2, 2, 2),),
    "InstanceNorm1d(3)": (f(4, 3, 2),),
    "InstanceNorm1d(3, affine=True, track_running_stats=True)": (f(4, 3, 2),),
    "InstanceNorm2d(3)": (f(3, 2, 2),),
    "InstanceNorm3d(3)": (f(4, 3, 2, 2, 2),),
    "LocalResponseNorm(3)": (f(4, 5, 2),),
    "SyncBatchNorm(3)": (f(4, 3, 2),),
    "SyncBatchNorm(3, momentum=None, affine=False)": (f(4, 3),),
    "Sequential(m.nn.SyncBatchNorm.convert_sync_batchnorm(m.nn.Sequential(m.nn.BatchNorm2d(3), m.nn.ReLU())))": (
        f(4, 3, 2, 2),),
    "CrossMapLRN2d(3)": (f(2, 8, 3, 2),),
    "CrossMapLRN2d(4, alpha=0.5, beta=0.6, k=2)": (f(2, 8, 3, 2),),
    "CrossMapLRN2d(5, alpha=0.5)": (f(2, 2, 3, 2),),
    "DataParallel(m.nn.Linear(3, 2))": (f(4, 3),),
    "CosineSimilarity(1)": (f(4, 3), f(4, 3)),
    "PairwiseDistance(2.0, keepdim=True)": (f(4, 3), f(4, 3)),
    "ReLU()": (f(4, 3),),
    "ReLU(inplace=True)": None,
    "ReLU6()": (4 * f(4, 3),),
    "ReLU6(True)": None,
    "ELU(0.5)": (f(4, 3),),
    "ELU(0.5, True)": None,
    "CELU(2.0)": (f(4, 3),),
    "SELU()": (f(4, 3),),
    "SiLU()": (f(4, 3),),
    "Mish()": (f(4, 3),),
    "LeakyReLU(0.2)": (f(4, 3),),
    "LeakyReLU(inplace=True)": None,
    "Threshold(0.1, 20)": (f(4, 3),),
    "Threshold(0.1, 20, inplace=True)": None,
    "RReLU()": (f(4, 3),),
    "RReLU(0.1, 0.2, True)": None,
    "GLU()": (f(4, 6),),
    "GLU(0)": (f(4, 6),),
    "GELU()": (f(4, 3),),
    "GELU(approximate='tanh')": (f(4, 3),),
    "Softplus()": (f(4, 3),),
    "Softplus(2, 3.5)": (f(4, 3),),
    "Softmax(1)": (f(4, 3),),
    "Softmax()": (f(4, 3),),
    "Softmin(dim=0)": (f(4, 3),),
    "LogSoftmax(-1)": (f(4, 3),),
    "Softmax2d()": (f(2, 4, 3, 2),),
    "Sigmoid()": (f(4, 3),),
    "Tanh()": (f(4, 3),),
    "LogSigmoid()": (f(4, 3),),
    "Softsign()": (f(4, 3),),
    "Tanhshrink()": (f(4, 3),),
    "Hardshrink()": (f(4, 3),),
    "Softshrink(0.25)": (f(4, 3),),
    "Hardsigmoid()": (3 * f(4, 3),),
    "Hardswish(inplace=True)": None,
    "Hardtanh()": (f(4, 3),),
    "Hardtanh(-0.5, 0.5, True)": None,
    "Hardtanh(min_value=-0.5, max_value=0.25)": (f(4, 3),),
    "PReLU()": (f(4, 3),),
    "PReLU(3, init=0.1)": (f(4, 3),),
}

TARGET = np.array([0, 2, 1, 2])
SIGNS = np.array([1, -1, 1, -1], np.float32)
W = p(3)
LOSSES: dict[str, tuple[Any, ...]] = {
    "L1Loss()": (f(4, 3), f(4, 3)),
    "L1Loss(reduction='sum')": (f(4, 3), f(4, 3)),
    "L1Loss(size_average=False)": (f(4, 3), f(4, 3)),
    "MSELoss()": (f(4, 3), f(4, 3)),
    "MSELoss(None, False)": (f(4, 3), f(4, 3)),
    "SmoothL1Loss(beta=0.5)": (f(4, 3), f(4, 3)),
    "HuberLoss(delta=0.5)": (f(4, 3), f(4, 3)),
    "NLLLoss()": (f(4, 3), TARGET),
    "NLLLoss(m.from_numpy(W), ignore_index=2)": (f(4, 3), TARGET),
    "CrossEntropyLoss()": (f(4, 3), TARGET),
    "CrossEntropyLoss(weight=m.from_numpy(W), reduction='sum')": (f(4, 3), TARGET),
    "CrossEntropyLoss(label_smoothing=0.1)": (f(4, 3), TARGET),
    "BCELoss()": (p(4, 3), p(4, 3)),
    "BCELoss(m.from_numpy(W))": (p(4, 3), p(4, 3)),
    "BCEWithLogitsLoss()": (f(4, 3), p(4, 3)),
    "BCEWithLogitsLoss(pos_weight=m.from_numpy(W))": (f(4, 3), p(4, 3)),
    "KLDivLoss(reduction='batchmean')": (f(4, 3), p(4, 3)),
    "KLDivLoss(log_target=True)": (f(4, 3), f(4, 3)),
    "PoissonNLLLoss()": (f(4, 3), p(4, 3)),
    "PoissonNLLLoss(False, True, eps=1e-3)": (p(4, 3), 4 * p(4, 3)),
    "GaussianNLLLoss(full=True)": (f(4, 3), f(4, 3), p(4, 3)),
    "HingeEmbeddingLoss(0.5)": (f(4), SIGNS),
    "MarginRankingLoss(0.5)": (f(4), f(4), SIGNS),
    "SoftMarginLoss()": (f(4), SIGNS),
    "MultiLabelMarginLoss()": (f(2, 3), np.array([[0, 2, -1], [1, -1, 0]])),
    "MultiLabelSoftMarginLoss()": (f(4, 3), p(4, 3)),
    "MultiMarginLoss(p=2, weight=m.from_numpy(W))": (f(4, 3), TARGET),
    "CosineEmbeddingLoss(0.1)": (f(4, 3), f(4, 3), SIGNS),
    "TripletMarginLoss(swap=True)": (f(4, 3), f(4, 3), f(4, 3)),
    "TripletMarginWithDistanceLoss(margin=2.0)": (f(4, 3), f(4, 3), f(4, 3)),
}
MADE = {**LAYERS, **LOSSES}
# Targets that torch has no derivative for, or that are exactly at a corner.
CONSTANT_TARGETS = ("HingeEmbeddingLoss", "MarginRankingLoss", "SoftMarginLoss", "CosineEmbeddingLoss")


def made(module: Any, constructor: str) -> Any:
    module.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"m.nn.{constructor}", {"m": module, "W": W.copy()})


def inputs(module: Any, constructor: str) -> list[Any]:
    arrays = MADE[constructor] or (f(0) + 1, )
    given = [module.from_numpy(a.copy()) for a in arrays]
    for i, t in enumerate(given):
        if t.is_floating_point() and not (i == len(given) - 1 and constructor.startswith(CONSTANT_TARGETS)):
            t.requires_grad_()
    return given


def loss_of(module: Any, out: Any) -> Any:
    """Every element counts for itself: of an unweighted sum of squares, layers that normalise have no gradient."""
    weights = module.arange(1, out.numel() + 1, dtype=out.dtype) / out.numel()
    return (out * out * weights.reshape(out.shape)).sum()


def forward_and_back(module: Any, constructor: str) -> list[Any]:
    """Everything that shows of one forward and backward."""
    layer = made(module, constructor)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = [repr(layer), list(layer.state_dict().values())]
        given = [t * 1 if "rue" in constructor and t.is_floating_point() else t for t in inputs(module, constructor)]
        out = layer(*given)
        seen.append(out)
        if out.requires_grad:
            leaves = [t for t in (*given, *layer.parameters()) if t.requires_grad]
            seen.append(module.autograd.grad(loss_of(module, out), leaves, allow_unused=True))
        seen.append(list(layer.state_dict().values()))
        layer.eval()
        seen.append(layer(*inputs(module, constructor)))
    return [*seen, [(w.category, str(w.message)) for w in caught]]


@pytest.mark.parametrize("constructor", [c for c in MADE if MADE[c] is not None])
def test_forward_and_backward(constructor: str) -> None:
    assert_same(forward_and_back(torch, constructor), forward_and_back(whygrad, constructor), rtol=1e-4, noise=5e-6)


@pytest.mark.parametrize("constructor", [c for c in MADE if MADE[c] is None])
def test_inplace(constructor: str) -> None:
    results = []
    array = 2 * f(4, 3)
    for module in (torch, whygrad):
        layer = made(module, constructor)
        x = module.from_numpy(array.copy()).requires_grad_()
        y = x * 1
        out = layer(y)
        out.sum().backward()
        results.append([repr(layer), out is y, out, x.grad])
    assert_same(*results)


@pytest.mark.parametrize("constructor", MADE)
def test_pickle_and_copy(constructor: str) -> None:
    layer = made(whygrad, constructor)
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert type(other) is type(layer)
        assert repr(other) == repr(layer)
        for a, b in zip(layer.state_dict().values(), other.state_dict().values(), strict=True):
            assert a is not b
            assert (a == b).all()


@pytest.mark.parametrize("name", sorted({c.partition("(")[0] for c in MADE}))
def test_signature(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(m.nn, name)) for m in (torch, whygrad))
    assert [(q.name, q.kind, q.default) for q in theirs.parameters.values()] == [
        (q.name, q.kind, q.default) for q in ours.parameters.values()]


ERRORS = [
    "Dropout(1.5)", "Hardtanh(2, 1)", "Embedding(5, 3, padding_idx=7)", "Embedding.from_pretrained(m.ones(3))",
    "Embedding(5, 3, _weight=m.ones(2, 2))", "Unflatten(1, 3)", "Unflatten(1, (2, 'a'))", "GroupNorm(3, 4)",
    "BatchNorm1d(3)(m.ones(3))", "BatchNorm2d(3)(m.ones(2, 3))", "BatchNorm3d(3)(m.ones(2, 3))",
    "BatchNorm1d(3)(m.ones(1, 3))", "BatchNorm1d(3)(m.ones(2, 4))", "InstanceNorm1d(3)(m.ones(3))",
    "InstanceNorm1d(3, affine=True)(m.ones(2, 4, 3))", "Softmax2d()(m.ones(2, 3))", "MultiMarginLoss(p=3)",
    "MultiMarginLoss(weight=m.ones(2, 2))", "HuberLoss(delta='a')", "TripletMarginLoss(margin=-1)", "Bilinear(0, 1, 1)",
    "TripletMarginWithDistanceLoss(margin=0)", "Linear(3, 4)(m.ones(2, 5))", "Linear(3, 4)(3)",
    "LayerNorm(3)(m.ones(2, 4))",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression: str) -> None:
    same_error(lambda: eval(f"m.nn.{expression}", {"m": torch}), lambda: eval(f"m.nn.{expression}", {"m": whygrad}))


@pytest.mark.parametrize("expression", ["ReLU(1, 2)", "ELU(beta=1)", "Threshold()", "GaussianNLLLoss(True)"])
def test_wrong_arguments(expression: str) -> None:
    same_error(lambda: eval(f"m.nn.{expression}", {"m": torch}), lambda: eval(f"m.nn.{expression}", {"m": whygrad}),
               text=False)


def test_from_pretrained() -> None:
    results = []
    for m in (torch, whygrad):
        table = m.arange(6.0).view(3, 2)
        layer = m.nn.Embedding.from_pretrained(table, padding_idx=0)
        shared = layer.weight.data_ptr() == table.data_ptr()
        results.append([repr(layer), layer.weight, layer(m.tensor([2, 0])), shared])
    assert_same(*results)


def test_old_batch_norm_checkpoint_has_no_count() -> None:
    for m in (torch, whygrad):
        layer = m.nn.BatchNorm1d(3)
        state = {key: value for key, value in layer.state_dict().items() if key != "num_batches_tracked"}
        assert repr(layer.load_state_dict(state)) == "<All keys matched successfully>"


LAZY_NORMS = {
    "LazyBatchNorm1d()": f(4, 3), "LazyBatchNorm2d(momentum=None, bias=False)": f(4, 3, 2, 2),
    "LazyBatchNorm3d(affine=False, track_running_stats=False)": f(4, 3, 2, 2, 2), "LazyInstanceNorm1d()": f(4, 3, 2),
    "LazyInstanceNorm2d(1e-3, 0.2, False, dtype=m.float64)": f(4, 3, 2, 2).astype(np.float64),
    "LazyInstanceNorm3d(track_running_stats=False)": f(4, 3, 2, 2, 2),
}


@pytest.mark.parametrize("constructor", LAZY_NORMS)
def test_lazy_norms(constructor: str) -> None:
    def life(m: Any) -> list[Any]:
        x = m.from_numpy(LAZY_NORMS[constructor].copy()).requires_grad_()
        layer, other = made(m, constructor), made(m, constructor)
        seen = [repr(layer), list(map(str, layer.state_dict().items())), layer(x), repr(layer), list(layer.state_dict().items())]
        other.load_state_dict(layer.state_dict())
        seen += [list(other.state_dict().items()), repr(other), layer.eval()(x)]
        return [*seen, m.autograd.grad(loss_of(m, seen[2]), [x, *layer.parameters()], allow_unused=True)]

    assert_same(life(torch), life(whygrad), rtol=1e-4)


def test_subclass_of_a_made_loss() -> None:
    results = []
    for m in (torch, whygrad):
        class Focal(m.nn.CrossEntropyLoss):
            def __init__(self, gamma: float) -> None:
                super().__init__(reduction="none")
                self.gamma = gamma

            def forward(self, input: Any, target: Any) -> Any:
                loss = super().forward(input, target)
                return (loss * (1 - (-loss).exp()) ** self.gamma).mean()

        results.append(Focal(2.0)(m.tensor([[1.0, 2.0], [0.5, 0.1]]), m.tensor([0, 1])))
    assert_same(*results)


def trained(m: Any) -> list[Any]:
    """A few steps of plain gradient descent."""
    m.manual_seed(2)
    model = m.nn.Sequential(m.nn.Linear(4, 16), m.nn.ReLU(), m.nn.Dropout(0.1), m.nn.LayerNorm(16), m.nn.Linear(16, 3))
    x, y = m.randn(32, 4), m.randint(0, 3, (32,))
    losses = []
    for _ in range(20):
        loss = m.nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        m.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        with m.no_grad():
            for parameter in model.parameters():
                parameter -= 0.5 * parameter.grad
        losses.append(loss.item())
    return [losses, *model.parameters()]


def test_training_gives_the_same_model() -> None:
    assert_same(trained(torch), trained(whygrad), rtol=1e-4)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3, float("inf")])
@pytest.mark.parametrize("max_norm", [0.1, 100.0])
def test_clipping(norm_type: float, max_norm: float) -> None:
    results = []
    arrays = [f(3, 2), f(4), f(1)]
    for m in (torch, whygrad):
        parameters = [m.nn.Parameter(m.from_numpy(a.copy())) for a in arrays]
        for q in parameters[:2]:
            q.grad = q.detach() * 3
        utils = m.nn.utils
        total = utils.get_total_norm([q.grad for q in parameters[:2]], norm_type)
        before = utils.clip_grad_norm_(iter(parameters), max_norm, norm_type)
        clipped = [None if q.grad is None else q.grad.clone() for q in parameters]
        utils.clip_grad_value_(parameters, 0.05)
        results.append([total, before, clipped, [q.grad for q in parameters], parameters[0].grad._version])
    assert_same(*results)


def test_clipping_what_is_not_finite() -> None:
    def clip(m: Any) -> Any:
        q = m.nn.Parameter(m.ones(2))
        q.grad = m.tensor([float("nan"), 1.0])
        return m.nn.utils.clip_grad_norm_(q, 1.0, error_if_nonfinite=True)

    same_error(lambda: clip(torch), lambda: clip(whygrad))
    assert_same(torch.nn.utils.clip_grad_norm_([], 1.0), whygrad.nn.utils.clip_grad_norm_([], 1.0))


def test_vectors() -> None:
    results = []
    for m in (torch, whygrad):
        layer = made(m, "Linear(2, 3)")
        vector = m.nn.utils.parameters_to_vector(layer.parameters())
        new = m.arange(9.0)
        m.nn.utils.vector_to_parameters(new, layer.parameters())
        new[0] = 100
        results.append([vector, layer.weight, layer.bias])
    assert_same(*results)
    same_error(lambda: torch.nn.utils.vector_to_parameters(3, []), lambda: whygrad.nn.utils.vector_to_parameters(3, []))
