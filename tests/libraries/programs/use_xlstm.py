import torch
from xlstm import FeedForwardConfig, mLSTMBlockConfig, mLSTMLayerConfig, sLSTMBlockConfig, sLSTMLayerConfig, xLSTMBlockStack, xLSTMBlockStackConfig

torch.manual_seed(0)
config = xLSTMBlockStackConfig(
    mlstm_block=mLSTMBlockConfig(mlstm=mLSTMLayerConfig(conv1d_kernel_size=4, qkv_proj_blocksize=4, num_heads=2)),
    slstm_block=sLSTMBlockConfig(slstm=sLSTMLayerConfig(backend="vanilla", num_heads=2, conv1d_kernel_size=4),
                                 feedforward=FeedForwardConfig(proj_factor=1.3, act_fn="gelu")),
    context_length=12, num_blocks=2, embedding_dim=16, slstm_at=[1])
model = xLSTMBlockStack(config)
x = torch.randn(2, 12, 16)
loss = model(x).pow(2).mean()
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
