import torch
from perceiver_pytorch import Perceiver, PerceiverIO

torch.manual_seed(0)
model = Perceiver(input_channels=3, input_axis=2, num_freq_bands=3, max_freq=10.0, depth=2, num_latents=8, latent_dim=16,
                  num_classes=4, cross_dim_head=8, latent_dim_head=8, latent_heads=2)
loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 8, 8, 3)), torch.tensor([1, 3]))
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
io = PerceiverIO(dim=8, queries_dim=6, logits_dim=5, depth=1, num_latents=4, latent_dim=8)
print(io(torch.randn(1, 10, 8), queries=torch.randn(7, 6)).sum().item())
