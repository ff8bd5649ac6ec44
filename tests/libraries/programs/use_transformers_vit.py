import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
model = ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                                            image_size=16, patch_size=4, num_labels=3))
out = model(pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 2]))
out.loss.backward()
print(out.loss.item(), out.logits.norm().item(), model.vit.embeddings.cls_token.grad.norm().item())
