import torch
from conformer import ConformerBlock

torch.manual_seed(0)
block = ConformerBlock(dim=16, dim_head=8, heads=2, ff_mult=2, conv_kernel_size=7)
x = torch.randn(2, 12, 16)
out = block(x)
out.pow(2).mean().backward()
print(out.sum().item(), sum(p.grad.abs().sum().item() for p in block.parameters()))
