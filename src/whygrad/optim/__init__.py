"""Optimizers, learning rate schedulers and averaging of weights, as torch.optim has them."""

from whygrad.base.unsupported import absent_from
from whygrad.optim import lr_scheduler, swa_utils
from whygrad.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from whygrad.optim.lbfgs import LBFGS
from whygrad.optim.matrices import Adafactor, Muon
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.rms import Adadelta, Adagrad, RMSprop
from whygrad.optim.sgd import ASGD, SGD, Rprop

__getattr__ = absent_from("torch.optim")

__all__ = [*[name for name in dir() if name[0].isupper()], "lr_scheduler", "swa_utils"]
