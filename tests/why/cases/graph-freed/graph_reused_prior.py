# graph-freed | error | freed/second time
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
log_scale = nn.Parameter(torch.zeros(2))
prior = torch.distributions.Normal(torch.zeros(2), log_scale.exp())  #C
opt = torch.optim.SGD([log_scale], lr=0.1)
crashed = False
for batch in torch.randn(3, 8, 2):
    nll = -prior.log_prob(batch).mean()
    opt.zero_grad()
    try:
        nll.backward()  #R
    except RuntimeError as e:
        crashed = "second time" in str(e)
        break
    opt.step()
print("evidence:", crashed)
