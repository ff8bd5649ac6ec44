# hook-modified | wrong-value | hook
# evidence: tensor([20., 40.])
import torch


def amplify(grad):
    return grad * 10


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
handle = y.register_hook(amplify)  #C
y.sum().backward()
g = x.grad  #R
print("evidence:", g)
