import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1))
ids = torch.randint(2, 50, (2, 8))
loss = model(ids, labels=ids).loss
loss.backward()
print(loss.item(), model.transformer.wte.weight.grad.norm().item())
model.eval()
print(*model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=1)[0].tolist())
print(*model.generate(ids, max_new_tokens=4, num_beams=3, do_sample=False, pad_token_id=1)[0].tolist())
torch.manual_seed(1)
print(*model.generate(ids, max_new_tokens=6, do_sample=True, top_k=10, temperature=0.9, pad_token_id=1)[0].tolist())
