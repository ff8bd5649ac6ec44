import ot
import torch

torch.manual_seed(0)
x, y = torch.randn(12, 2, requires_grad=True), torch.randn(10, 2) + 1
weights_x, weights_y = torch.full((12,), 1 / 12), torch.full((10,), 1 / 10)
cost = ot.dist(x, y)
exact = ot.emd2(weights_x, weights_y, cost)
entropic = ot.sinkhorn2(weights_x, weights_y, cost, reg=1.0)
sliced = ot.sliced_wasserstein_distance(x, y, n_projections=20, seed=0)
for distance in (exact, entropic, sliced):
    (gradient,) = torch.autograd.grad(distance, x, retain_graph=True)
    print(distance.item(), gradient.norm().item())
