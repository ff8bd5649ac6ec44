import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import torch

torch.manual_seed(0)
results = {}


class Own(threading.Thread):
    def run(self):
        w = torch.ones(2, requires_grad=True)
        (w * 3).sum().backward()
        results["own"] = w.grad


def work(name):
    w = torch.full((3,), 2.0, requires_grad=True)
    with torch.no_grad():
        torch.ones(2) * 2
    (w ** 2).sum().backward()
    results[name] = w.grad


def failing():
    try:
        torch.ones(2).sum().backward()
    except RuntimeError:
        results["failing"] = traceback.format_exc()


threads = [Own(),
           *[threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(3)], threading.Thread(target=failing)]
for t in threads:
    t.start()
for t in threads:
    t.join()
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda x: torch.tensor(x, requires_grad=True).exp().item(), [0.0, 1.0])))
for name in sorted(results, key=str):
    print(name, results[name])

# An optimizer's step in one thread does not stop what another one does, nor what is recorded of it.
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
(other * 3).detach()
(other * 3).sum().backward()
done.set()
thread.join()
print(weight.item(), other.grad)
