import tempfile

import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4)).eval()
ids = torch.randint(0, 50, (2, 8))
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = AutoModelForCausalLM.from_pretrained(folder)
print(model(ids).logits.norm().item(), again(ids).logits.norm().item(), again.lm_head.weight is again.transformer.wte.weight)
