import atexit

import torch

atexit.register(lambda: print("at exit", flush=True))
w = torch.ones(2, requires_grad=True)
y = (w * 2).detach()
try:
    print("body")
    y.sum().backward()
finally:
    print("finally")
