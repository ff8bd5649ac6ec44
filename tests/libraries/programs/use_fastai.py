import torch
import fastai.callback.progress  # noqa: F401
import fastai.callback.schedule  # noqa: F401
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.torch_core import TensorBase, set_seed

set_seed(0)
x = torch.randn(64, 4)
pairs = list(zip(x, (x.sum(1) > 0).long()))
loaders = DataLoaders(DataLoader(pairs, bs=16, num_workers=0), DataLoader(pairs, bs=16, num_workers=0), device="cpu")
learner = Learner(loaders, torch.nn.Linear(4, 2), loss_func=CrossEntropyLossFlat(), metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(2, 0.1)
print(*[value for row in learner.recorder.values for value in row])
print(type(TensorBase(torch.ones(3)) + 1).__name__)
