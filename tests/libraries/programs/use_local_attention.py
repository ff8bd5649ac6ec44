import torch
from local_attention import LocalAttention, LocalTransformer

torch.manual_seed(0)
attention = LocalAttention(dim=8, window_size=4, causal=True, autopad=True)
q, k, v = (torch.randn(2, 12, 8, requires_grad=True) for _ in range(3))
attention(q, k, v).sum().backward()
loss = LocalTransformer(num_tokens=20, dim=16, depth=1, max_seq_len=16, local_attn_window_size=4)(torch.randint(0, 20, (1, 12)), return_loss=True)
print(q.grad.norm().item(), v.grad.norm().item(), loss.item())
