"""Programs with a trace function of their own, and signal handlers."""
import os
import signal
import sys

import torch

lines = []


def tracer(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        lines.append((frame.f_code.co_name, event))
        return tracer
    return None


def f(w):
    y = w * 2
    z = y.sum()
    z.backward()
    return w.grad


w = torch.ones(2, requires_grad=True)
sys.settrace(tracer)
f(w)
sys.settrace(None)
print(lines, sys.gettrace())
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event) if frame.f_code is f.__code__ and event == "call" else None)
f(w)
sys.setprofile(None)
print(calls)
print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
got = []
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda n, frame: got.append((n, frame.f_code.co_name)))
    os.kill(os.getpid(), number)
    (w * 2).sum().backward()
print(got, w.grad)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("alarm")))
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
try:
    while True:
        (w * 2).sum().backward()
except TimeoutError as error:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("timed out", error)
sys.exit(5)
