import torch
from captum.attr import DeepLift, IntegratedGradients, LayerGradCam, Saliency

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 2))
x = torch.randn(2, 1, 6, 6)
for method in (Saliency, IntegratedGradients, DeepLift):
    print(method.__name__, method(model).attribute(x, target=1).norm().item())
print(LayerGradCam(model, model[0]).attribute(x, 1).norm().item())
