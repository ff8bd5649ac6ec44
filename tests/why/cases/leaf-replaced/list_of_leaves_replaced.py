# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True
import torch

torch.manual_seed(0)
latents = [torch.zeros(4, requires_grad=True) for _ in range(3)]
opt = torch.optim.SGD(latents, lr=0.1)
for step in range(2):
    for i in range(3):
        latents[i] = latents[i] + 0.01 * torch.randn(4)  #C
    loss = sum((z - 1).pow(2).sum() for z in latents)
    opt.zero_grad()
    loss.backward()
    opt.step()
import warnings

warnings.simplefilter("ignore")
print("evidence:", latents[0].grad is None)  #R
