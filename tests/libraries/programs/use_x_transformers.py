import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=30, max_seq_len=16, attn_layers=Decoder(
    dim=32, depth=2, heads=4, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True)))
x = torch.randint(0, 30, (2, 12))
loss = model(x)
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
print(*model.generate(x[:1, :3], 5, temperature=0.0)[0].tolist())
