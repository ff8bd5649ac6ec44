# zero-local-derivative | zero | clamp, outside/bound
# evidence: True
import torch

logit = torch.tensor([12.0, 15.0], requires_grad=True)
safe = logit.clamp(-10, 10)  #C
loss = torch.nn.functional.softplus(-safe).sum()
loss.backward()
g = logit.grad  #R
print("evidence:", bool((g == 0).all()))
