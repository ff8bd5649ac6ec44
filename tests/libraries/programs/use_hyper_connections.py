import torch
from hyper_connections import get_init_and_expand_reduce_stream_functions

torch.manual_seed(0)
init, expand, reduce = get_init_and_expand_reduce_stream_functions(4)
branch = init(dim=8, branch=torch.nn.Linear(8, 8))
out = reduce(branch(expand(torch.randn(2, 5, 8))))
out.sum().backward()
print(out.norm().item(), sum(p.grad.norm().item() for p in branch.parameters() if p.grad is not None))
