"""Optimizers, learning rate schedulers and averaging of weights, as torch.optim has them."""

from whygrad.base.unsupported import absent_from
from whygrad.optim import lr_scheduler as lr_scheduler
from whygrad.optim import swa_utils as swa_utils
from whygrad.optim.adadelta import Adadelta as Adadelta
from whygrad.optim.adafactor import Adafactor as Adafactor
from whygrad.optim.adagrad import Adagrad as Adagrad
from whygrad.optim.adam import Adam as Adam
from whygrad.optim.adam import AdamW as AdamW
from whygrad.optim.adam import SparseAdam as SparseAdam
from whygrad.optim.adamax import Adamax as Adamax
from whygrad.optim.asgd import ASGD as ASGD
from whygrad.optim.lbfgs import LBFGS as LBFGS
from whygrad.optim.muon import Muon as Muon
from whygrad.optim.nadam import NAdam as NAdam
from whygrad.optim.optimizer import Optimizer as Optimizer
from whygrad.optim.radam import RAdam as RAdam
from whygrad.optim.rmsprop import RMSprop as RMSprop
from whygrad.optim.rprop import Rprop as Rprop
from whygrad.optim.sgd import SGD as SGD

__getattr__ = absent_from("torch.optim")

__all__ = [*[name for name in dir() if name[0].isupper()], "lr_scheduler", "swa_utils"]
