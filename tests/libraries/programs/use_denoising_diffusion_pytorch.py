import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
diffusion = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), flash_attn=False), image_size=16, timesteps=20)
loss = diffusion(torch.rand(2, 3, 16, 16))
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in diffusion.parameters()))
