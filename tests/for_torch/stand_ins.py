"""What Lightning and transformers call of a callback, in their order: for tests where they are not installed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

logger = logging.getLogger("stand_ins")


class Callback:
    """Of Lightning: one that defines nothing hears of nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: None


class LightningTrainer:
    def __init__(self, max_epochs: int, callbacks: list[Any], **options: Any) -> None:
        self.max_epochs, self.callbacks = max_epochs, callbacks

    def _call(self, hook: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    def fit(self, module: Any, loader: Any) -> None:
        try:
            self._call("setup", module, "fit")
            optimizer = module.configure_optimizers()
            for _ in range(self.max_epochs):
                for index, batch in enumerate(loader):
                    def closure(batch: Any = batch, index: int = index) -> Any:
                        loss = module.training_step(batch, index)
                        optimizer.zero_grad()
                        loss.backward()
                        return loss

                    optimizer.step(closure)
            self._call("on_fit_end", module)
        except BaseException as error:
            self._call("on_exception", module, error)
            raise
        finally:
            self._call("teardown", module, "fit")


class TransformersTrainer:
    def __init__(self, model: nn.Module, args: Any, train_dataset: Any, callbacks: list[Any]) -> None:
        self.model, self.args, self.data, self.callbacks = model, args, train_dataset, callbacks

    def training_step(self, model: nn.Module, inputs: dict[str, Any]) -> Any:
        loss = model(**inputs)["loss"]
        loss.backward()
        return loss.detach()

    def _batches(self) -> Iterator[dict[str, Any]]:
        size = self.args.per_device_train_batch_size
        for begin in range(0, len(self.data), size):
            samples = self.data[begin:begin + size]
            yield {name: torch.stack([sample[name] for sample in samples]) for name in samples[0]}

    def train(self) -> None:
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-5)
        for callback in self.callbacks:
            callback.on_train_begin(self.args, None, None, model=self.model)
        for _ in range(self.args.num_train_epochs):
            for inputs in self._batches():
                self.training_step(self.model, inputs)
                optimizer.step()
                self.model.zero_grad()
        for callback in self.callbacks:
            callback.on_train_end(self.args, None, None)


def modules() -> dict[str, ModuleType]:
    """The modules that whygrad's callbacks import, by name."""
    found = {name: ModuleType(name) for name in (
        "lightning", "lightning.pytorch", "lightning.pytorch.utilities", "lightning.pytorch.utilities.rank_zero",
        "transformers", "accelerate")}
    vars(found["lightning.pytorch"]).update(Callback=Callback, LightningModule=nn.Module, Trainer=LightningTrainer)
    vars(found["lightning.pytorch.utilities.rank_zero"]).update(rank_zero_info=logger.warning)
    vars(found["transformers"]).update(
        Trainer=TransformersTrainer, TrainerCallback=object,
        TrainingArguments=lambda folder, **options: SimpleNamespace(**options))
    return found
