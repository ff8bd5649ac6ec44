# weights-reset | load_state_dict/restor/reset/overwrit/reload/old
# evidence: policy network equals its initial weights at the end: True
# parameters: body.0.weight, body.0.bias, body.2.weight, body.2.bias
import random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F


class QNet(nn.Module):
    def __init__(self, n_obs=4, n_actions=2, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, n_actions))

    def forward(self, x):
        return self.body(x)


class ToyPole:
    """A pole that drifts away unless it is pushed against its tilt."""

    def reset(self):
        self.state = torch.randn(4) * 0.2
        self.t = 0
        return self.state.clone()

    def step(self, action):
        push = 0.15 if action == 1 else -0.15
        self.state = self.state * 1.02 + torch.tensor([0.0, push, 0.3 * push, 0.0])
        self.t += 1
        done = bool(self.state.abs().max() > 1.0) or self.t >= 20
        reward = 1.0 - float(self.state.abs().mean())
        return self.state.clone(), reward, done


class Agent:
    def __init__(self, gamma=0.9, lr=1e-3, sync_every=10):
        self.policy_net = QNet()
        self.target_net = QNet()
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=500)
        self.gamma = gamma
        self.sync_every = sync_every
        self.updates = 0

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.policy_net(obs.unsqueeze(0)).argmax(dim=1))

    def learn(self, batch_size=16):
        batch = random.sample(list(self.memory), batch_size)
        obs, act, rew, nxt, done = zip(*batch)
        obs, nxt = torch.stack(obs), torch.stack(nxt)
        act = torch.tensor(act).unsqueeze(1)
        rew = torch.tensor(rew)
        done = torch.tensor(done, dtype=torch.float32)
        q = self.policy_net(obs).gather(1, act).squeeze(1)
        with torch.no_grad():
            best = self.target_net(nxt).max(dim=1).values
            goal = rew + self.gamma * (1 - done) * best
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.policy_net.load_state_dict(self.target_net.state_dict())  #C
        return loss.item()


def main():
    random.seed(3)
    torch.manual_seed(0)
    env, agent = ToyPole(), Agent()
    start = {k: v.clone() for k, v in agent.policy_net.state_dict().items()}
    while agent.updates < 60:
        obs, done, total = env.reset(), False, 0.0
        while not done and agent.updates < 60:
            action = agent.act(obs, eps=0.3)
            nxt, reward, done = env.step(action)
            agent.memory.append((obs, action, reward, nxt, done))
            obs, total = nxt, total + reward
            if len(agent.memory) >= 32:
                loss = agent.learn()
                if agent.updates % 15 == 0:
                    print(f"update {agent.updates}: td loss {loss:.4f}, return so far {total:.2f}")
    same = all(torch.equal(v, start[k]) for k, v in agent.policy_net.state_dict().items())
    print("policy network equals its initial weights at the end:", same)


if __name__ == "__main__":
    main()
