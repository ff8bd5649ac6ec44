# missing-detach | unwanted | detach
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
oa = torch.optim.Adam(actor.parameters())
oc = torch.optim.Adam(critic.parameters())
s, ret = torch.randn(6, 3), torch.randn(6)
for _ in range(2):
    value = critic(s).squeeze(1)
    logp = torch.log_softmax(actor(s), dim=1)[:, 0]
    adv = ret - value  #C
    oa.zero_grad()
    (-(logp * adv).mean()).backward()  #C
    oa.step()
    g = critic.weight.grad  #R
    oc.zero_grad()
    nn.functional.mse_loss(critic(s).squeeze(1), ret).backward()
    oc.step()
print("evidence:", g is not None)
