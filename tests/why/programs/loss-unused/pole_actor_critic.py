# loss-unused, unused-in-loss | value/critic
# evidence: critic moved: False
# parameters: critic.0.weight, critic.0.bias, critic.2.weight, critic.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


class PointEnv:
    """A point on a line; action 1 pushes right, action 0 pushes left; stay near 0."""

    def reset(self):
        self.pos = torch.empty(1).uniform_(-1, 1).item()
        self.vel = 0.0
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.pos, self.vel])

    def step(self, action):
        self.vel = 0.9 * self.vel + (0.1 if action == 1 else -0.1)
        self.pos += 0.2 * self.vel
        self.t += 1
        return self.obs(), 1.0 - abs(self.pos), self.t >= 12


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        self.critic = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, s):
        return F.log_softmax(self.actor(s), dim=-1), self.critic(s).squeeze(-1)


def rollout(env, model):
    states, actions, rewards = [], [], []
    s, done = env.reset(), False
    while not done:
        with torch.no_grad():
            logp, _ = model(s)
        a = torch.multinomial(logp.exp(), 1).item()
        states.append(s)
        actions.append(a)
        s, r, done = env.step(a)
        rewards.append(r)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.95 * g
        returns.insert(0, g)
    return torch.stack(states), torch.tensor(actions), torch.tensor(returns)


def update(model, opt, batch, vf_coef=0.5):
    states, actions, returns = batch
    logp, values = model(states)
    advantage = returns - values.detach()
    chosen = logp.gather(1, actions[:, None]).squeeze(1)
    policy_loss = -(chosen * advantage).mean()
    value_loss = F.mse_loss(values, returns)  #C
    loss = policy_loss + vf_coef * value_loss  #C
    opt.zero_grad()
    policy_loss.backward()  #C
    opt.step()
    return loss.item(), returns[0].item()


def main():
    env, model = PointEnv(), ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    start = [p.detach().clone() for p in model.critic.parameters()]
    for episode in range(30):
        loss, ret = update(model, opt, rollout(env, model))
        if episode % 10 == 0:
            print(f"episode {episode} loss {loss:.3f} return {ret:.2f}")
    moved = any(not torch.equal(a, b) for a, b in zip(start, model.critic.parameters()))
    print("critic moved:", moved)


if __name__ == "__main__":
    main()
