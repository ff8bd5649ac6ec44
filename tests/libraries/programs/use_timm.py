import timm
import torch

torch.manual_seed(0)
for name in ("resnet10t", "vit_tiny_patch16_224", "mobilenetv3_small_050", "convnext_atto"):
    model = timm.create_model(name, pretrained=False, num_classes=4, **({"img_size": 32} if name.startswith("vit") else {}))
    model.train()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, 32, 32)), torch.tensor([0, 3]))
    loss.backward()
    print(name, sum(p.numel() for p in model.parameters()), loss.item())
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
optimizer.step()
