"""torch.save(model): the file names torch's classes, so PyTorch reads what we wrote and we read what PyTorch wrote."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import whygrad
import whygrad.nn
import whygrad.optim

LIBRARIES = [pytest.param(torch, whygrad, id="from torch"), pytest.param(whygrad, torch, id="to torch")]

# Each with an input of this shape.
MODELS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "mlp": (lambda nn: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.GELU(), nn.Dropout(0.1), nn.Identity()), (2, 4)),
    "cnn": (lambda nn: nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2),
                                     nn.ConvTranspose2d(2, 2, 2), nn.InstanceNorm2d(2), nn.GroupNorm(1, 2), nn.PReLU(),
                                     nn.PixelShuffle(1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 1, 6, 6)),
    "lstm": (lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True), (5, 2, 3)),
    "gru": (lambda nn: nn.GRU(3, 4), (5, 2, 3)),
    "transformer": (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, activation="gelu"), 2), (3, 2, 8)),
    "upsampling": (lambda nn: nn.Sequential(nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1), nn.Unfold(2)), (1, 1, 3, 3)),
}


def carried(value: Any, save: Callable[..., None], load: Callable[..., Any], **options: Any) -> Any:
    file = io.BytesIO()
    save(value, file)
    file.seek(0)
    return load(file, **options)


def result(lib: Any, model: Any, x: np.ndarray) -> np.ndarray:
    with lib.no_grad():
        out = model.eval()(lib.from_numpy(x))
    return np.asarray((out[0] if isinstance(out, tuple) else out).tolist())


@pytest.mark.filterwarnings("ignore")  # of torch's encoder about nested tensors
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("source", "target"), LIBRARIES)
def test_models_travel_whole(source: Any, target: Any, name: str) -> None:
    make, shape = MODELS[name]
    source.manual_seed(0)
    model = make(source.nn)
    arrived = carried(model, source.save, target.load, weights_only=False)
    assert type(arrived) is type(make(target.nn))
    assert repr(arrived) == repr(model)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(result(source, model, x), result(target, arrived, x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "NAdam"])
@pytest.mark.parametrize(("source", "target"), LIBRARIES)
def test_optimizers_and_schedulers_travel_with_their_model(source: Any, target: Any, name: str) -> None:
    source.manual_seed(0)
    model = source.nn.Linear(3, 2)
    optimizer = getattr(source.optim, name)(model.parameters(), lr=0.1)
    training = (model, optimizer, source.optim.lr_scheduler.StepLR(optimizer, 1, 0.5))

    def step(lib: Any, model: Any, optimizer: Any, scheduler: Any) -> list[float]:
        optimizer.zero_grad()
        model(lib.ones(1, 3)).pow(2).sum().backward()
        optimizer.step()
        scheduler.step()
        return [value for row in model.weight.tolist() for value in row]

    step(source, *training)
    arrived = carried(training, source.save, target.load, weights_only=False)
    assert arrived[1].param_groups[0]["params"][0] is arrived[0].weight
    np.testing.assert_allclose(step(source, *training), step(target, *arrived), rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("source", [torch, whygrad])
@pytest.mark.parametrize("target", [torch, whygrad])
def test_trusted_classes(source: Any, target: Any, name: str) -> None:
    """With `safe_globals` a model loads by default, if all of its classes and functions are trusted."""
    make, shape = MODELS[name]
    source.manual_seed(0)
    model = make(source.nn)
    classes = list({type(module) for module in make(target.nn).modules()})
    functions = [target.nn.functional.gelu]
    with target.serialization.safe_globals(classes + functions):
        arrived = carried(model, source.save, target.load)
    assert repr(arrived) == repr(model)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(result(source, model, x), result(target, arrived, x), rtol=1e-4, atol=1e-6)
    for missing in classes:
        with (target.serialization.safe_globals([c for c in classes if c is not missing] + functions),
              pytest.raises(Exception, match=rf"GLOBAL torch\.nn\.modules\.\w+\.{missing.__name__} was not an allowed global")):
            carried(model, source.save, target.load)


class Net:
    """A module of the user's, made for either library."""


@pytest.mark.parametrize("source", [torch, whygrad])
@pytest.mark.parametrize("target", [torch, whygrad])
def test_trusted_classes_of_the_user(source: Any, target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def net(lib: Any) -> Any:
        class Net(lib.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embedding, self.rnn, self.function = lib.nn.Embedding(5, 3), lib.nn.GRU(3, 2), lib.nn.functional.relu
                self.mask = None

            def forward(self, x: Any) -> Any:
                return self.function(self.rnn(self.embedding(x))[0])

        Net.__module__, Net.__qualname__ = __name__, "Net"
        monkeypatch.setattr(f"{__name__}.Net", Net)
        return Net

    model = net(source)()
    file = io.BytesIO()
    source.save(model, file)
    file.seek(0)
    target.serialization.add_safe_globals([net(target), target.nn.Embedding, target.nn.GRU, target.nn.functional.relu])
    try:
        arrived = target.load(file)
    finally:
        target.serialization.clear_safe_globals()
    np.testing.assert_allclose(model(source.arange(4)).tolist(), arrived(target.arange(4)).tolist(), rtol=1e-5)


def test_a_model_is_code_and_needs_trust() -> None:
    file = io.BytesIO()
    torch.save(torch.nn.Linear(1, 1), file)
    file.seek(0)
    with pytest.raises(Exception, match=r"GLOBAL torch\.nn\.modules\.linear\.Linear was not an allowed global"):
        whygrad.load(file)


def test_every_class_is_named_as_torch_names_it() -> None:
    from whygrad.base.torch_homes import torch_home

    for space in ("nn", "optim", "optim.lr_scheduler", "distributions", "nn.utils.rnn", "utils.data"):
        ours, theirs = whygrad, torch
        for part in space.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        for name in ours.__all__ if hasattr(ours, "__all__") else dir(ours):
            kind, known = getattr(ours, name), getattr(theirs, name, None)
            if isinstance(kind, type) and isinstance(known, type) and kind.__module__.startswith("whygrad"):
                home = torch_home(kind)
                assert home is not None
                assert getattr(import_module(home), name) is known, (name, home)
