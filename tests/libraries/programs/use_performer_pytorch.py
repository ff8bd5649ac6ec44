import torch
from performer_pytorch import PerformerLM

torch.manual_seed(0)
model = PerformerLM(num_tokens=30, max_seq_len=16, dim=16, depth=1, heads=2, dim_head=8, causal=False)
out = model(torch.randint(0, 30, (2, 16)))
out.pow(2).mean().backward()
print(out.norm().item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
