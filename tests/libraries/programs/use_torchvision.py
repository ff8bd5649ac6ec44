import torch
from torchvision import models, transforms
from torchvision.models.feature_extraction import create_feature_extractor

torch.manual_seed(0)
model = models.resnet18(num_classes=4)
loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, 32, 32)), torch.tensor([1, 2]))
loss.backward()
print(loss.item(), model.conv1.weight.grad.norm().item())
change = transforms.Compose([transforms.RandomCrop(24), transforms.RandomHorizontalFlip(), transforms.Normalize([0.5] * 3, [0.2] * 3)])
print(change(torch.rand(3, 32, 32)).sum().item(), models.squeezenet1_1(num_classes=3).eval()(torch.ones(1, 3, 64, 64)).sum().item())
features = create_feature_extractor(model.eval(), ["layer2", "avgpool"])(torch.ones(1, 3, 32, 32))
print(*[value.norm().item() for value in features.values()])
