# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True
import torch


class Point:
    def __init__(self, xy):
        self.xy = torch.tensor(xy, requires_grad=True)
        self.normalise()

    def normalise(self):
        self.xy = self.xy / self.xy.sum()  #C

    def energy(self):
        return (self.xy ** 2).sum()


p = Point([1.0, 3.0])
p.energy().backward()
grad = p.xy.grad  #R
print("evidence:", grad is None)
