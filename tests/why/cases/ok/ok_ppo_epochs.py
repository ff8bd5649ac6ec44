# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
pi, vf = nn.Linear(4, 2), nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *vf.parameters()], lr=1e-3)
obs, ret = torch.randn(16, 4), torch.randn(16)
with torch.no_grad():
    dist = torch.distributions.Categorical(logits=pi(obs))
    act = dist.sample()
    old_logp = dist.log_prob(act)
    adv = ret - vf(obs).squeeze(-1)
for _ in range(3):
    logp = torch.distributions.Categorical(logits=pi(obs)).log_prob(act)
    ratio = (logp - old_logp).exp()
    clipped = ratio.clamp(0.8, 1.2)
    policy_loss = -torch.min(ratio * adv, clipped * adv).mean()
    value_loss = (vf(obs).squeeze(-1) - ret).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*pi.parameters(), *vf.parameters()], 0.5)
    opt.step()
print("evidence:", pi.weight.grad is not None, )
