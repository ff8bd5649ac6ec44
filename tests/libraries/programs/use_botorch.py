import warnings

import torch
from botorch.acquisition import ExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.rand(8, 1, dtype=torch.double)
y = (6 * x).sin()
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
told = model.posterior(torch.tensor([[0.3]], dtype=torch.double))
print(round(told.mean.item(), 4))
print(round(ExpectedImprovement(model, y.max())(torch.tensor([[[0.3]]], dtype=torch.double)).item(), 5))
