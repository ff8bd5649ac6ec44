import torch
from torchsummary import summary

summary(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2)), (3, 8, 8), device="cpu")
