import torch
from monai.data import MetaTensor
from monai.losses import DiceLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, RandFlip, ScaleIntensity

torch.manual_seed(0)
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
x, y = torch.rand(2, 1, 16, 16), torch.randint(0, 2, (2, 1, 16, 16))
loss = DiceLoss(to_onehot_y=True, softmax=True)(model(x), y)
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
image = Compose([ScaleIntensity(), RandFlip(prob=1.0, spatial_axis=0)])(MetaTensor(torch.arange(16.0).reshape(1, 4, 4)))
print(type(image).__name__, image.sum().item(), image.shape, DiceMetric()(y.float(), y.float()).mean().item())
