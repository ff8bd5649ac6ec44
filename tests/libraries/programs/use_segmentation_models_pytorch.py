import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
model = smp.Unet("resnet18", encoder_weights=None, classes=2)
loss = smp.losses.DiceLoss("multiclass")(model(torch.randn(2, 3, 32, 32)), torch.randint(0, 2, (2, 32, 32)))
loss.backward()
print(loss.item(), model.encoder.conv1.weight.grad.norm().item())
