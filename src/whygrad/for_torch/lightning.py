"""`Trainer(callbacks=[WhyCallback()])` of Lightning: at the end of fit(), the answers are logged."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whygrad.for_torch.trained import WatchedTraining

# The same library has two names; a Trainer wants callbacks of its own.
if not TYPE_CHECKING and "lightning" not in sys.modules and "pytorch_lightning" in sys.modules:
    from pytorch_lightning import Callback
    from pytorch_lightning.utilities.rank_zero import rank_zero_info
else:
    try:
        from lightning.pytorch import Callback
        from lightning.pytorch.utilities.rank_zero import rank_zero_info
    except ImportError:
        from pytorch_lightning import Callback
        from pytorch_lightning.utilities.rank_zero import rank_zero_info


class WhyCallback(Callback):
    def __init__(self) -> None:
        self._training = WatchedTraining(rank_zero_info)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before the optimizers are made: so their lines are known."""
        if stage == "fit":
            self._training.begin(pl_module)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._training.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._training.end()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._training.end()
