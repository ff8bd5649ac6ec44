import geoopt
import torch

torch.manual_seed(0)
ball = geoopt.PoincareBall()
point = geoopt.ManifoldParameter(torch.randn(5, 2) * 0.1, manifold=ball)
target = ball.expmap0(torch.tensor([0.3, -0.2]))
optimizer = geoopt.optim.RiemannianAdam([point], lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    loss = ball.dist(point, target).pow(2).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
stiefel = geoopt.Stiefel()
frame = geoopt.ManifoldParameter(stiefel.random(4, 2), manifold=stiefel)
print((frame.T @ frame).trace().item())
