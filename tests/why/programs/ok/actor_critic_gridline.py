# ok
# evidence: episodes got shorter: True
import torch
import torch.nn.functional as F
from torch import nn

GOAL, START, LIMIT, GAMMA = 5, 0, 25, 0.95


class ActorCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(GOAL + 1, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.body(F.one_hot(s, GOAL + 1).float())
        return self.pi(h), self.v(h).squeeze(-1)


def rollout(model):
    s, states, actions, rewards = START, [], [], []
    with torch.no_grad():
        for _ in range(LIMIT):
            logits, _ = model(torch.tensor([s]))
            a = torch.multinomial(logits.softmax(-1), 1).item()
            states.append(s)
            actions.append(a)
            s = max(0, s - 1) if a == 0 else s + 1
            rewards.append(1.0 if s == GOAL else -0.05)
            if s == GOAL:
                break
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.insert(0, g)
    return torch.tensor(states), torch.tensor(actions), torch.tensor(returns)


def update(model, opt, batch):
    s = torch.cat([b[0] for b in batch])
    a = torch.cat([b[1] for b in batch])
    ret = torch.cat([b[2] for b in batch])
    logits, v = model(s)
    logp = logits.log_softmax(-1)
    adv = (ret - v).detach()
    pg = -(adv * logp.gather(1, a[:, None]).squeeze(1)).mean()
    entropy = -(logp.exp() * logp).sum(-1).mean()
    loss = pg + 0.5 * F.mse_loss(v, ret) - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    opt.step()
    return loss.item()


def main():
    torch.manual_seed(36)
    model = ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    lengths = []
    for it in range(30):
        batch = [rollout(model) for _ in range(6)]
        loss = update(model, opt, batch)
        lengths.append(sum(len(b[0]) for b in batch) / len(batch))
        if it % 6 == 5:
            print(f"iter {it + 1} loss {loss:+.3f} mean length {lengths[-1]:.1f}")
    print(f"episodes got shorter: {sum(lengths[-6:]) < sum(lengths[:6])}")


if __name__ == "__main__":
    main()
