# clip-too-tight | clip, value/small/tight/1e-8/clip_value
# evidence: policy still picks every arm about equally (max probability < 0.5): True
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    """Chooses one of four arms from a context of two numbers."""

    def __init__(self, n_context=2, n_arms=4):
        super().__init__()
        self.hidden = nn.Linear(n_context, 16)
        self.logits = nn.Linear(16, n_arms)
        nn.init.normal_(self.logits.weight, std=0.05)
        nn.init.zeros_(self.logits.bias)

    def forward(self, context):
        return Categorical(logits=self.logits(torch.tanh(self.hidden(context))))


class ContextualBandit:
    def observe(self, n):
        self.context = torch.rand(n, 2) * 2 - 1
        right = (self.context[:, 0] > 0).long()
        up = (self.context[:, 1] > 0).long()
        self.best = 2 * up + right
        return self.context

    def pull(self, arms):
        return (arms == self.best).float() + 0.05 * torch.randn(len(arms))


def reinforce_step(policy, env, optimizer, baseline, n=64, clip_value=1e-8):  #C
    context = env.observe(n)
    dist = policy(context)
    arms = dist.sample()
    reward = env.pull(arms)
    advantage = reward - baseline
    loss = -(dist.log_prob(arms) * advantage).mean() - 0.001 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy.parameters(), clip_value)  #C
    optimizer.step()
    return reward.mean().item(), loss.item()


def main():
    torch.manual_seed(0)
    policy, env = Policy(), ContextualBandit()
    optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    baseline = 0.25
    for step in range(60):
        mean_reward, loss = reinforce_step(policy, env, optimizer, baseline)
        baseline = 0.9 * baseline + 0.1 * mean_reward
        if step % 15 == 0:
            print(f"step {step:3d} reward {mean_reward:.3f} loss {loss:.4f}")
    with torch.no_grad():
        top = policy(env.observe(200)).probs.max().item()
    print("policy still picks every arm about equally (max probability < 0.5):", top < 0.5)


if __name__ == "__main__":
    main()
