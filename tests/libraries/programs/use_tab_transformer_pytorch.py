import torch
from tab_transformer_pytorch import FTTransformer, TabTransformer

torch.manual_seed(0)
model = TabTransformer(categories=(4, 3), num_continuous=2, dim=8, depth=1, heads=2, dim_out=1, mlp_act=torch.nn.ReLU())
out = model(torch.tensor([[0, 2], [3, 1]]), torch.randn(2, 2))
out.sum().backward()
print(out.sum().item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
print(FTTransformer(categories=(4, 3), num_continuous=2, dim=8, depth=1, heads=2, dim_out=1)(torch.tensor([[0, 2]]), torch.ones(1, 2)).item())
