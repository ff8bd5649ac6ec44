# ok
# evidence: target critic differs from critic: True, actor pushes to the goal: True
import copy

import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


def transition(s, a):
    s2 = (s + 0.5 * a).clamp(-2, 2)
    return s2, -s2.pow(2)


@torch.no_grad()
def soft_update(target, source, tau):
    for t, p in zip(target.parameters(), source.parameters()):
        t.mul_(1 - tau).add_(p, alpha=tau)


def main():
    torch.manual_seed(3)
    gamma, tau, warmup = 0.8, 0.05, 40
    actor, critic = Actor(), Critic()
    actor_t = copy.deepcopy(actor).requires_grad_(False)
    critic_t = copy.deepcopy(critic).requires_grad_(False)
    opt_actor = torch.optim.Adam(actor.parameters(), lr=5e-3)
    opt_critic = torch.optim.Adam(critic.parameters(), lr=2e-2)

    for step in range(150):
        s = 4 * torch.rand(64, 1) - 2
        with torch.no_grad():
            a = 2 * torch.rand(64, 1) - 1             # off-policy: uniform exploration
            s2, r = transition(s, a)
            y = r + gamma * critic_t(s2, actor_t(s2))

        critic_loss = (critic(s, a) - y).pow(2).mean()
        opt_critic.zero_grad()
        critic_loss.backward()
        opt_critic.step()

        if step < warmup:
            continue

        # the policy follows the critic; the gradients left on the critic are cleared before its next step
        actor_loss = -critic(s, actor(s)).mean()
        opt_actor.zero_grad()
        actor_loss.backward()
        opt_actor.step()

        soft_update(critic_t, critic, tau)
        soft_update(actor_t, actor, tau)
        if step % 50 == 49:
            print(f"step {step + 1} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f}")

    differs = not torch.equal(critic.net[0].weight.detach(), critic_t.net[0].weight)
    with torch.no_grad():
        left, right = actor(torch.tensor([[-1.5]])).item(), actor(torch.tensor([[1.5]])).item()
    print(f"target critic differs from critic: {differs}, actor pushes to the goal: {left > 0 > right}")


if __name__ == "__main__":
    main()
