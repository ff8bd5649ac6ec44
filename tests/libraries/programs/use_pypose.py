import pypose as pp
import torch

torch.manual_seed(0)
x = pp.randn_SO3(3, sigma=0.5, requires_grad=True)
points = torch.randn(3, 3)
loss = (x.Act(points)).sin().sum() + x.Log().norm()
loss.backward()
print(loss.item(), x.grad.norm().item(), (x @ x.Inv()).Log().norm().item())
pose = pp.se3(torch.randn(2, 6)).Exp()
print(pose.matrix().norm().item(), pose.rotation().tensor().norm().item(), type(pose).__name__)
