import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad, DiagGGNExact, Variance

torch.manual_seed(0)
model = extend(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 2)))
loss = extend(torch.nn.CrossEntropyLoss())(model(torch.randn(6, 4)), torch.tensor([0, 1, 1, 0, 1, 0]))
with backpack(BatchGrad(), Variance(), DiagGGNExact()):
    loss.backward()
for p in model.parameters():
    print(p.grad_batch.norm().item(), p.variance.sum().item(), p.diag_ggn_exact.sum().item())
