import torch
from vit_pytorch.simple_vit import SimpleViT
from vit_pytorch.vit import ViT

torch.manual_seed(0)
for kind in (ViT, SimpleViT):
    model = kind(image_size=16, patch_size=4, num_classes=3, dim=32, depth=2, heads=4, mlp_dim=64)
    loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, 16, 16)), torch.tensor([0, 2]))
    loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
