import torch
from x_clip import CLIP

torch.manual_seed(0)
clip = CLIP(
    dim_text=16,
    dim_image=16,
    dim_latent=8,
    num_text_tokens=50,
    text_enc_depth=1,
    text_seq_len=8,
    text_heads=2,
    visual_enc_depth=1,
    visual_image_size=16,
    visual_patch_size=8,
    visual_heads=2,
    visual_patch_dropout=0.0,
    use_all_token_embeds=True,
)
loss = clip(torch.randint(1, 50, (4, 8)), torch.randn(4, 3, 16, 16), return_loss=True)
loss.backward()
print(loss.item(), clip.to_text_latent.weight.grad.abs().sum().item())
