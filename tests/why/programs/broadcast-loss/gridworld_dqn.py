# broadcast-loss | broadcast/shape
# evidence: greedy policy walks to the goal from everywhere: False
import random
import warnings
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
N_STATES, GAMMA = 6, 0.8


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(N_STATES, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, s):
        return self.fc2(F.relu(self.fc1(s)))


def one_hot(s):
    return F.one_hot(torch.as_tensor(s), N_STATES).float()


def env_step(s, a):
    nxt = max(0, s - 1) if a == 0 else s + 1
    done = nxt == N_STATES - 1
    return nxt, (1.0 if done else 0.0), done


def collect(memory, n):
    s = 0
    for _ in range(n):
        a = random.randrange(2)
        nxt, r, done = env_step(s, a)
        memory.append((s, a, r, nxt, float(done)))
        s = random.randrange(N_STATES - 1) if done else nxt


def update(q, target, optimizer, memory, batch=32):
    s, a, r, nxt, done = (torch.tensor(v) for v in zip(*random.sample(memory, batch)))
    q_sa = q(one_hot(s)).gather(1, a.unsqueeze(1))  #C
    with torch.no_grad():
        best = target(one_hot(nxt)).max(dim=1).values
        expected = r + GAMMA * (1 - done) * best  #C
    loss = F.smooth_l1_loss(q_sa, expected)  #C
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    q, target = QNet(), QNet()
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-2)
    memory = deque(maxlen=500)
    collect(memory, 400)
    for step in range(240):
        loss = update(q, target, optimizer, memory)
        if step % 10 == 0:
            target.load_state_dict(q.state_dict())
        if step % 60 == 0:
            print(f"step {step} td loss {loss:.4f}")
    with torch.no_grad():
        values = q(one_hot(torch.arange(N_STATES - 1)))
    learned = bool((values[:, 1] > values[:, 0] + 0.02).all())
    print("greedy policy walks to the goal from everywhere:", learned)


if __name__ == "__main__":
    main()
