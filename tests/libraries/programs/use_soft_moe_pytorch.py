import torch
from soft_moe_pytorch import DynamicSlotsSoftMoE, SoftMoE

torch.manual_seed(0)
for moe in (SoftMoE(dim=16, seq_len=20, num_experts=3), DynamicSlotsSoftMoE(dim=16, num_experts=3, geglu=True)):
    x = torch.randn(2, 20, 16)
    loss = (moe(x) + x).pow(2).mean()
    loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in moe.parameters() if p.grad is not None))
