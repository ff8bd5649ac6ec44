# non-leaf-no-retain | none | leaf/intermediate, retain_grad
# evidence: True (1, 4, 6, 6)
import torch
from torch import nn


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.layer = layer

    def __call__(self, image):
        x = image
        for name, module in self.model.named_children():
            x = module(x)  #C
            if name == self.layer:
                self.feature = x
        x[0, 0].backward()
        return self.feature.grad  #R


model = nn.Sequential()
model.add_module("conv", nn.Conv2d(1, 4, 3))
model.add_module("act", nn.ReLU())
model.add_module("flat", nn.Flatten())
model.add_module("fc", nn.Linear(144, 2))
cam = GradCAM(model, "act")
weights = cam(torch.randn(1, 1, 8, 8))
print("evidence:", weights is None, tuple(cam.feature.shape))
