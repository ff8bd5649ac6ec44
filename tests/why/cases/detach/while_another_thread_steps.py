# detach | none | detach
# evidence: True True
import threading

import torch

weight, other = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
inside, done = threading.Event(), threading.Event()


class Waiting(torch.optim.SGD):
    def step(self):
        inside.set()
        done.wait(10)
        super().step()


def train():
    optimizer = Waiting([weight], lr=0.1)
    (weight * 2).sum().backward()
    optimizer.step()


thread = threading.Thread(target=train)
thread.start()
inside.wait(10)
scale = (other * 3).detach()  #C
loss = (scale * torch.ones(2, requires_grad=True)).sum()
loss.backward()
done.set()
thread.join()
print(other.grad)  #R
print("evidence:", other.grad is None, weight.item() < 1)  #R
