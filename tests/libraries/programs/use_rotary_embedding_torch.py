import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
rotary = RotaryEmbedding(dim=8, learned_freq=True)
q = torch.randn(1, 2, 6, 16, requires_grad=True)
out = rotary.rotate_queries_or_keys(q)
(out * torch.arange(16.0)).sum().backward()
print(out.norm().item(), q.grad.norm().item(), rotary.freqs.grad.norm().item())
