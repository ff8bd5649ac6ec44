import torch
from linformer import LinformerLM

torch.manual_seed(0)
model = LinformerLM(num_tokens=20, dim=16, seq_len=12, depth=1, heads=2, k=4)
out = model(torch.randint(0, 20, (2, 12)))
out.pow(2).mean().backward()
print(out.norm().item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
