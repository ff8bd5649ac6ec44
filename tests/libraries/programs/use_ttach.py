import torch, ttach as tta

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 2)
)
wrapped = tta.ClassificationTTAWrapper(model, tta.aliases.d4_transform(), merge_mode="mean")
print(wrapped(torch.randn(2, 3, 8, 8)))
seg = tta.SegmentationTTAWrapper(torch.nn.Conv2d(3, 1, 3, padding=1), tta.aliases.flip_transform())
print(seg(torch.randn(1, 3, 6, 6)).sum().item())
