"""Callbacks for Lightning and transformers: answers through the framework's logger, and training as without them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stand_ins
import torch
from test_torch_api import everything_of_torch, state
from torch import nn

from whygrad.for_torch import trained
from whygrad.for_torch.trained import WatchedTraining

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the frameworks

OURS = ("whygrad.for_torch.lightning", "whygrad.for_torch.transformers")
X = torch.linspace(-1, 1, 96).reshape(24, 4)
Y = X.sin().sum(1, keepdim=True)


def loss_of(a: nn.Module, b: nn.Module, x: torch.Tensor, y: torch.Tensor, fault: str) -> torch.Tensor:
    h = torch.relu(a(x))
    if fault == "detach":
        h = h.detach()
    elif fault == "error":
        raise LookupError("of the program")
    elif fault == "cut":
        return nn.functional.mse_loss(b(h), y).detach()
    return nn.functional.mse_loss(b(h), y)


def fit_with_lightning(fault: str, with_callback: bool, folder: Path) -> list[Any]:
    lightning = pytest.importorskip("lightning.pytorch")
    from whygrad.for_torch.lightning import WhyCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return loss_of(self.a, self.b, *batch, fault)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.01)

    torch.manual_seed(0)
    module = Module()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=4, shuffle=True)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, callbacks=[WhyCallback()] if with_callback else [])
    return outcome(lambda: trainer.fit(module, loader), module)


def train_with_transformers(fault: str, with_callback: bool, folder: Path) -> list[Any]:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from whygrad.for_torch.transformers import WhyCallback

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x: Any, labels: Any) -> Any:
            return {"loss": loss_of(self.a, self.b, x, labels, fault)}

    torch.manual_seed(0)
    model = Model()
    arguments = transformers.TrainingArguments(
        str(folder), num_train_epochs=2, per_device_train_batch_size=4, report_to=[], save_strategy="no", use_cpu=True,
        disable_tqdm=True, logging_strategy="no", seed=0)
    trainer = transformers.Trainer(model, arguments, train_dataset=[{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)],
                                   callbacks=[WhyCallback()] if with_callback else [])
    found = outcome(trainer.train, model)
    assert "training_step" not in vars(trainer)
    return found


def outcome(train: Any, model: nn.Module) -> list[Any]:
    """What a training raises, the weights after it, and the random numbers."""
    error = None
    try:
        train()
    except Exception as raised:
        error = type(raised), str(raised)
    return [error, [p.tolist() for p in model.parameters()], torch.get_rng_state().tolist()]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the frameworks log of whygrad; they do not pass it on to the root logger."""
    texts: list[str] = []
    plain = logging.Logger.callHandlers

    def call_handlers(logger: logging.Logger, entry: logging.LogRecord) -> None:
        if "whygrad" in entry.getMessage():
            texts.append(entry.getMessage())
        plain(logger, entry)

    monkeypatch.setattr(logging.Logger, "callHandlers", call_handlers)
    return texts


@pytest.fixture(params=["installed", "stand-in"])
def frameworks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The frameworks themselves, where they are installed, and what calls callbacks as they do."""
    if request.param == "stand-in":
        for name, module in stand_ins.modules().items():
            monkeypatch.setitem(sys.modules, name, module)
        for name in OURS:
            sys.modules.pop(name, None)
    yield
    for name in OURS:
        sys.modules.pop(name, None)  # it holds classes of the stand-ins


@pytest.mark.usefixtures("frameworks")
@pytest.mark.parametrize("train", [fit_with_lightning, train_with_transformers])
@pytest.mark.parametrize(("fault", "category"), [("", ""), ("detach", "detach"), ("error", ""), ("cut", "detach")])
def test_training(train: Any, fault: str, category: str, logged: list[str], tmp_path: Path) -> None:
    plain = train(fault, False, tmp_path)
    before, outside = everything_of_torch(), state()
    assert train(fault, True, tmp_path) == plain
    assert (plain[0] is None) == (fault in ("", "detach"))
    assert state() == outside
    after = everything_of_torch()
    assert {key for key, value in before.items() if after.get(key) != value} == set()
    assert len(logged) == bool(category), logged
    for text in logged:
        assert f"[{category}]" in text
        assert f"cause: {__file__}:" in text
        assert "in loss_of: " in text


def test_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    WatchedTraining(told.append).end()
    training = WatchedTraining(told.append)
    training.begin(3)
    training.end()
    assert told == ["whygrad: recording could not start (TypeError: watch() takes a torch.nn.Module, not int)"]

    def fail(text: str) -> None:
        raise OSError

    training = WatchedTraining(fail)
    training.begin(nn.Linear(2, 1))
    training.begin(nn.Linear(2, 1))  # a run that was not ended
    with pytest.raises(RuntimeError):
        torch.ones(2).sum().backward()
    training.end()
    assert torch._C._len_torch_function_stack() == 0
    monkeypatch.setattr(trained.watch, "__exit__", lambda *_: 1 / 0)
    training = WatchedTraining(told.append)
    training.begin(nn.Linear(2, 1))
    block = training._block
    assert block is not None
    training.end()
    block._recording.stop()
    assert told[1:] == ["whygrad: there are no answers (ZeroDivisionError: division by zero)"]
