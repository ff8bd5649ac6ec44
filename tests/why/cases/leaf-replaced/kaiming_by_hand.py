# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True False
import math
import torch

torch.manual_seed(0)


class Layer:
    def __init__(self, n_in, n_out):
        self.weight = torch.randn(n_in, n_out, requires_grad=True) * math.sqrt(2 / n_in)  #C
        self.bias = torch.zeros(n_out, requires_grad=True)

    def __call__(self, x):
        return torch.relu(x @ self.weight + self.bias)


layer = Layer(3, 5)
out = layer(torch.randn(8, 3))
out.mean().backward()
g = layer.weight.grad  #R
print("evidence:", g is None, layer.weight.is_leaf)
