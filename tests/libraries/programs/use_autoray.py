import autoray
import torch

torch.manual_seed(0)
x = torch.randn(4, 4, requires_grad=True)
y = autoray.do("tanh", autoray.do("linalg.svd", x)[1])
y = autoray.do("sum", y * autoray.do("arange", 4, like=x))
y.backward()
print(autoray.infer_backend(x), y.item(), x.grad.norm().item(), autoray.do("trace", x).item())
