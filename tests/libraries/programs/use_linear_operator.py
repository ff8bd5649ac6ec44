import torch
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator, LowRankRootLinearOperator

torch.manual_seed(0)
root = torch.randn(6, 2, requires_grad=True)
diagonal = torch.rand(6, requires_grad=True)
matrix = LowRankRootLinearOperator(root) + DiagLinearOperator(diagonal + 1)
solved = torch.linalg.solve(matrix, torch.ones(6, 1))
(solved.sum() + torch.logdet(matrix)).backward()
print(solved.sum().item(), root.grad.norm().item(), diagonal.grad.norm().item(), to_linear_operator(torch.eye(3)).diagonal().sum().item())
