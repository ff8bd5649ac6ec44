# ok
# evidence: done
"""An actor with a learned temperature, which the actor's own loss takes as a constant."""
import torch
import torch.nn as nn


def main():
    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    log_alpha = torch.tensor(-1.0, requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)
    alpha_opt = torch.optim.Adam([log_alpha], lr=3e-3)
    for step in range(30):
        state = torch.randn(64, 3)
        action = torch.randn(64, 1)
        critic_loss = (critic(torch.cat([state, action], 1)) + (action - state[:, :1]).pow(2)).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        mean, log_std = actor(state).chunk(2, 1)
        noise = torch.randn_like(mean)
        logp = -0.5 * noise ** 2 - log_std
        actor_loss = (log_alpha.exp().detach() * logp - critic(torch.cat([state, mean + log_std.exp() * noise], 1))).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        alpha_loss = -(log_alpha * (logp.detach() - 0.5)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
    print("evidence: done")


main()
