import numpy as np
import tltorch
import torch

np.random.seed(0)
torch.manual_seed(0)
layer = torch.nn.Linear(16, 8)
factorized = tltorch.FactorizedLinear.from_linear(layer, rank=0.5, auto_tensorize=False, in_tensorized_features=(4, 4), out_tensorized_features=(2, 4))
x = torch.randn(5, 16)
loss = factorized(x).pow(2).sum()
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in factorized.parameters()))
tensor = tltorch.FactorizedTensor.new((3, 4, 5), rank=0.5, factorization="cp").normal_(0, 0.5)
print(tensor.to_tensor().norm().item(), tensor.rank)
