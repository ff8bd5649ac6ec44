"""Optimizers, learning rate schedulers and averaging of weights, as torch.optim has them."""

from whygrad.compat.absent import absent_from
from whygrad.optim import lr_scheduler, swa_utils
from whygrad.optim.adadelta import Adadelta
from whygrad.optim.adafactor import Adafactor
from whygrad.optim.adagrad import Adagrad
from whygrad.optim.adam import Adam, AdamW, SparseAdam
from whygrad.optim.adamax import Adamax
from whygrad.optim.asgd import ASGD
from whygrad.optim.lbfgs import LBFGS
from whygrad.optim.muon import Muon
from whygrad.optim.nadam import NAdam
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.radam import RAdam
from whygrad.optim.rmsprop import RMSprop
from whygrad.optim.rprop import Rprop
from whygrad.optim.sgd import SGD

__getattr__ = absent_from("torch.optim")

__all__ = [*[name for name in dir() if name[0].isupper()], "lr_scheduler", "swa_utils"]
