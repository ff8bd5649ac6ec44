# ok
# evidence: return improved: True, value net moved: True
import torch
import torch.nn as nn


class Policy(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 24), nn.Tanh(), nn.Linear(24, actions))

    def forward(self, s):
        return torch.log_softmax(self.net(s), dim=-1)


class Value(nn.Module):
    def __init__(self, obs=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


def contextual_bandit(n):
    s = torch.randn(n, 4)
    best = s[:, :3].argmax(dim=1)
    return s, best


def reward_of(action, best):
    return (action == best).float() + 0.1 * torch.randn(len(action))


def main():
    torch.manual_seed(9)
    policy, value = Policy(), Value()
    opt_p = torch.optim.Adam(policy.parameters(), lr=2e-2)
    opt_v = torch.optim.Adam(value.parameters(), lr=1e-2)
    v0 = value.net[0].weight.detach().clone()
    returns = []
    for it in range(60):
        s, best = contextual_bandit(64)
        logp = policy(s)
        with torch.no_grad():
            action = torch.multinomial(logp.exp(), 1).squeeze(1)
            reward = reward_of(action, best)
        baseline = value(s)
        advantage = reward - baseline.detach()           # the policy loss must not train the baseline
        chosen = logp.gather(1, action[:, None]).squeeze(1)
        policy_loss = -(advantage * chosen).mean()
        value_loss = (baseline - reward).pow(2).mean()

        opt_p.zero_grad()
        policy_loss.backward()
        opt_p.step()
        opt_v.zero_grad()
        value_loss.backward()
        opt_v.step()
        returns.append(reward.mean().item())
        if it % 15 == 14:
            print(f"iter {it + 1} return {returns[-1]:.3f} value loss {value_loss.item():.3f}")
    print(f"return improved: {sum(returns[-10:]) > sum(returns[:10])}, "
          f"value net moved: {not torch.equal(v0, value.net[0].weight.detach())}")


if __name__ == "__main__":
    main()
