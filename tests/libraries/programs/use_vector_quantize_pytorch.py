import torch
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 10, 8, requires_grad=True)
for quantizer in (VectorQuantize(dim=8, codebook_size=16, decay=0.8), ResidualVQ(dim=8, codebook_size=16, num_quantizers=2)):
    quantized, indices, loss = quantizer(x)
    (quantized.sum() + loss.sum()).backward()
    print(quantized.norm().item(), indices.sum().item(), loss.sum().item())
print(FSQ([4, 4], dim=8)(x)[0].norm().item(), x.grad.norm().item())
