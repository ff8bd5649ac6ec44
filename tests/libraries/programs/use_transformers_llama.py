import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0))
ids = torch.randint(2, 50, (2, 8))
loss = model(ids, labels=ids).loss
loss.backward()
print(loss.item(), model.model.layers[0].self_attn.k_proj.weight.grad.norm().item())
print(*model.generate(ids, max_new_tokens=5, do_sample=False)[1].tolist())
