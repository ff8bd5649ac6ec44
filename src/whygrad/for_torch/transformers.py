"""`Trainer(callbacks=[WhyCallback()])` of transformers: at the end of train(), the answers are logged."""

from __future__ import annotations

import functools
import logging
import sys
from typing import Any

from transformers import Trainer, TrainerCallback

from whygrad.for_torch.trained import WatchedTraining


class WhyCallback(TrainerCallback):
    def __init__(self) -> None:
        self._training = WatchedTraining(logging.getLogger("transformers.trainer").warning)
        self._trainer: Trainer | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self._let_go()
        self._training.begin(getattr(model, "module", model))
        self._trainer = _running_trainer()
        if self._trainer is not None:
            self._trainer.training_step = self._ending_if_it_raises(self._trainer.training_step)  # type: ignore[method-assign]

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._let_go()
        self._training.end()

    def _ending_if_it_raises(self, training_step: Any) -> Any:
        """A Trainer does not tell its callbacks of an exception."""

        @functools.wraps(training_step)
        def step(*args: Any, **kwargs: Any) -> Any:
            try:
                return training_step(*args, **kwargs)
            except BaseException:
                self._let_go()
                self._training.end()
                raise

        return step

    def _let_go(self) -> None:
        trainer, self._trainer = self._trainer, None
        if trainer is not None:
            vars(trainer).pop("training_step", None)


def _running_trainer() -> Trainer | None:
    """The Trainer that has called: it gives its callbacks everything but itself."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Trainer):
            return owner
        frame = frame.f_back
    return None
