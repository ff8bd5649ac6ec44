import torch
from thop import profile

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2))
print(*profile(model, inputs=(torch.randn(1, 3, 8, 8),), verbose=False))
