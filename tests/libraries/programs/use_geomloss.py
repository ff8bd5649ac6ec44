import torch
from geomloss import SamplesLoss

torch.manual_seed(0)
x, y = torch.randn(20, 2, requires_grad=True), torch.randn(25, 2) + 1
for name in ("sinkhorn", "gaussian", "energy", "laplacian"):
    loss = SamplesLoss(name, p=2, blur=0.5, backend="tensorized")(x, y)
    (gradient,) = torch.autograd.grad(loss, x)
    print(name, loss.item(), gradient.norm().item())
