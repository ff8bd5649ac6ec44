import torch
from reformer_pytorch import ReformerLM

torch.manual_seed(0)
model = ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=16, heads=2, bucket_size=4, n_hashes=2, causal=True)
out = model(torch.randint(0, 20, (1, 16)))
out.pow(2).mean().backward()
print(out.norm().item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
