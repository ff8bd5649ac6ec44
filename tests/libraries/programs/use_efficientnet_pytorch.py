import torch
from efficientnet_pytorch import EfficientNet

torch.manual_seed(0)
model = EfficientNet.from_name("efficientnet-b0", num_classes=3).eval()
out = model(torch.randn(1, 3, 32, 32))
out.sum().backward()
print(out.sum().item(), model._fc.weight.grad.norm().item())
