import torch
from titans_pytorch import NeuralMemory, MemoryAsContextTransformer

torch.manual_seed(0)
mem = NeuralMemory(dim=16, chunk_size=4)
out, state = mem(torch.randn(2, 16, 16))
out.pow(2).mean().backward()
print(out.sum().item(), sum(p.grad.abs().sum().item() for p in mem.parameters() if p.grad is not None))
