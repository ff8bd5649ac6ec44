import torch
from torchcam.methods import CAM, GradCAM, SmoothGradCAMpp
from torchvision.models import resnet18

torch.manual_seed(0)
model = resnet18().eval()
x = torch.rand(1, 3, 64, 64)
for method in (CAM, GradCAM):
    with method(model, "layer4", **({"fc_layer": "fc"} if method is CAM else {})) as extractor:
        scores = model(x)
        maps = extractor(scores.squeeze(0).argmax().item(), scores)
        print(method.__name__, maps[0].shape, maps[0].sum().item())
