import torch
from open_clip.loss import ClipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg

torch.manual_seed(0)
model = CLIP(16, CLIPVisionCfg(layers=1, width=32, head_width=8, patch_size=8, image_size=16),
             CLIPTextCfg(context_length=8, vocab_size=50, width=32, heads=4, layers=1))
image, text, scale = model(torch.randn(3, 3, 16, 16), torch.randint(0, 50, (3, 8)))[:3]
loss = ClipLoss()(image, text, scale)
loss.backward()
print(loss.item(), image.sum().item(), model.token_embedding.weight.grad.norm().item())
