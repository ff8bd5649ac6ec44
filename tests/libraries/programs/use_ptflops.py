import torch
from ptflops import get_model_complexity_info

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2))
print(*get_model_complexity_info(model, (3, 8, 8), as_strings=False, print_per_layer_stat=False, backend="pytorch"))
print(*get_model_complexity_info(model, (3, 8, 8), as_strings=False, print_per_layer_stat=False, backend="aten"))
