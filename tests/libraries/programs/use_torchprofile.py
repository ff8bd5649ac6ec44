import torch
from torchprofile import profile_macs

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2))
print(profile_macs(model, torch.randn(1, 3, 8, 8)))
