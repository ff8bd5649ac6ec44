import torch
from fvcore.nn import FlopCountAnalysis, parameter_count, sigmoid_focal_loss

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2))
print(parameter_count(model)[""], sigmoid_focal_loss(torch.randn(4, 2), torch.ones(4, 2), reduction="mean").item())
print(FlopCountAnalysis(model, torch.randn(1, 3, 8, 8)).total())
