import torch
from pytorch_revgrad import RevGrad

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), RevGrad(alpha=0.5), torch.nn.Linear(5, 1))
model(torch.ones(4, 3)).sum().backward()
print([p.grad.sum().item() for p in model.parameters()])
