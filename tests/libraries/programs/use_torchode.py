import torch
import torchode

torch.manual_seed(0)
rate = torch.tensor(0.7, requires_grad=True)
term = torchode.ODETerm(lambda t, y: -rate * y + torch.sin(t)[:, None])
method = torchode.Dopri5(term=term)
solver = torchode.AutoDiffAdjoint(method, torchode.IntegralController(atol=1e-6, rtol=1e-4, term=term))
times = torch.linspace(0, 2, 6).repeat(3, 1)
solution = solver.solve(torchode.InitialValueProblem(y0=torch.rand(3, 2), t_eval=times))
solution.ys.sum().backward()
print(solution.ys.sum().item(), rate.grad.item(), solution.stats["n_steps"].tolist())
