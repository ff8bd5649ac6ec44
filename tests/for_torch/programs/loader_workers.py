import os

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.scale = torch.full((2,), 3.0, requires_grad=True)

    def __len__(self):
        return 10

    def __getitem__(self, i):
        worker = torch.utils.data.get_worker_info()
        with torch.no_grad():
            x = torch.rand(2) * self.scale
        lost = torch.ones(2, requires_grad=True)
        (lost.detach() * self.scale).sum().backward()
        if lost.grad is None and i == 0 and worker is not None:
            print("in worker", worker.id, flush=True)
        return x, i


def main():
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for workers in (0, 2):
        for x, i in DataLoader(Rows(), batch_size=4, num_workers=workers, shuffle=True,
                               persistent_workers=False, generator=torch.Generator().manual_seed(1)):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()
            print(i.tolist(), [round(v, 5) for v in x.flatten().tolist()])
    child = os.fork()
    if child == 0:
        print("forked", net(torch.ones(1, 2)).requires_grad, flush=True)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), net.weight)


if __name__ == "__main__":
    main()
