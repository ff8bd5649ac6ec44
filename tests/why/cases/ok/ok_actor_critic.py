# ok
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
oa = torch.optim.Adam(actor.parameters(), lr=1e-3)
oc = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(3):
    s, r = torch.randn(10, 4), torch.randn(10)
    dist = torch.distributions.Categorical(logits=actor(s))
    a = dist.sample()
    v = critic(s).squeeze(-1)
    adv = (r - v).detach()
    actor_loss = -(dist.log_prob(a) * adv).mean()
    critic_loss = nn.functional.mse_loss(v, r)
    oa.zero_grad()
    actor_loss.backward()
    oa.step()
    oc.zero_grad()
    critic_loss.backward()
    oc.step()
print("evidence:", actor.weight.grad is not None, critic.weight.grad is not None)
