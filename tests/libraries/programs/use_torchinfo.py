import torch
from torchinfo import summary

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2))
told = summary(model, input_size=(2, 3, 8, 8), verbose=0)
print(told.total_params, told.total_mult_adds, told.total_output_bytes)
print(told)
