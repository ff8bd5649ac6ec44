import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
                    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                    attention_head_dim=4)
scheduler = DDPMScheduler(num_train_timesteps=50)
images, noise, steps = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8), torch.tensor([3, 30])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(images, noise, steps), steps).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
sampler = DDIMScheduler(num_train_timesteps=50)
sampler.set_timesteps(3)
with torch.no_grad():
    x = noise
    for t in sampler.timesteps:
        x = sampler.step(model(x, t).sample, t, x).prev_sample
print(x.norm().item())
