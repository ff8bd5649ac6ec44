import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
model = T5ForConditionalGeneration(T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
ids = torch.randint(2, 50, (2, 8))
loss = model(input_ids=ids, labels=ids[:, :5]).loss
loss.backward()
print(loss.item(), model.shared.weight.grad.norm().item())
model.eval()
print(*model.generate(ids, max_new_tokens=5, do_sample=False)[0].tolist())
