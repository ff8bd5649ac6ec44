import torch
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, TwoWayTransformer

torch.manual_seed(0)
encoder = ImageEncoderViT(
    img_size=32,
    patch_size=8,
    embed_dim=16,
    depth=2,
    num_heads=2,
    out_chans=16,
    use_rel_pos=True,
    window_size=2,
    global_attn_indexes=(1,),
)
prompt = PromptEncoder(embed_dim=16, image_embedding_size=(4, 4), input_image_size=(32, 32), mask_in_chans=4)
decoder = MaskDecoder(transformer_dim=16, transformer=TwoWayTransformer(depth=2, embedding_dim=16, mlp_dim=32, num_heads=2))
image = encoder(torch.randn(1, 3, 32, 32))
sparse, dense = prompt(points=(torch.tensor([[[4.0, 9.0]]]), torch.tensor([[1]])), boxes=None, masks=None)
masks, iou = decoder(
    image_embeddings=image,
    image_pe=prompt.get_dense_pe(),
    sparse_prompt_embeddings=sparse,
    dense_prompt_embeddings=dense,
    multimask_output=True,
)
masks.pow(2).mean().backward()
print(
    masks.shape,
    masks.sum().item(),
    iou.sum().item(),
    sum(p.grad.abs().sum().item() for p in encoder.parameters() if p.grad is not None),
)
