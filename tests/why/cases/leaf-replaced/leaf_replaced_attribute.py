# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True
import torch


class Model:
    def __init__(self):
        self.w = torch.randn(3, 1, requires_grad=True)
        self.w = self.w * 0.1  #C

    def __call__(self, x):
        return x @ self.w


m = Model()
loss = m(torch.randn(4, 3)).mean()
loss.backward()
g = m.w.grad  #R
print("evidence:", g is None)
