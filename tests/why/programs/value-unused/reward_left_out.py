# value-unused | rewards
# evidence: done
"""Reward left out."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class Env:
    def reset(self):
        self.pos = random.randint(1, 6)
        return self.pos

    def step(self, a):
        self.pos += 1 if a else -1
        done = self.pos in (0, 7)
        return self.pos, float(self.pos == 7), done


def one_hot(s):
    return F.one_hot(torch.tensor(s), 8).float()


def main():
    torch.manual_seed(0)
    random.seed(0)
    q, target = nn.Linear(8, 2), nn.Linear(8, 2)
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-2)
    memory, env = [], Env()
    gamma = 0.9
    for episode in range(60):
        s, done, n = env.reset(), False, 0
        while not done and n < 20:
            a = random.randrange(2) if random.random() < 0.3 else int(q(one_hot(s)).argmax())
            s2, r, done = env.step(a)
            memory.append((s, a, r, s2, done))
            s, n = s2, n + 1
            if len(memory) > 32:
                ss, aa, rr, s2s, dd = map(list, zip(*random.sample(memory, 32)))
                rewards = torch.tensor(rr)
                done_mask = torch.tensor(dd).float()
                with torch.no_grad():
                    goal = gamma * target(one_hot(s2s)).max(1).values * (1 - done_mask)  #C
                pred = q(one_hot(ss)).gather(1, torch.tensor(aa)[:, None]).squeeze(1)
                loss = F.smooth_l1_loss(pred, goal)
                opt.zero_grad()
                loss.backward()
                opt.step()
        if episode % 5 == 0:
            target.load_state_dict(q.state_dict())
    print(loss.item())


main()
print("evidence: done")
