import kornia
import torch

torch.manual_seed(0)
image = torch.rand(2, 3, 16, 16, requires_grad=True)
out = kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0))
out = kornia.geometry.transform.rotate(out, torch.tensor([10.0, -20.0]))
loss = kornia.losses.ssim_loss(out, image.detach(), 5) + kornia.filters.sobel(out).mean()
loss.backward()
print(loss.item(), image.grad.norm().item(), kornia.color.rgb_to_hsv(image).mean().item())
print(kornia.augmentation.RandomHorizontalFlip(p=0.5)(image).sum().item(), kornia.feature.harris_response(image[:, :1]).sum().item())
