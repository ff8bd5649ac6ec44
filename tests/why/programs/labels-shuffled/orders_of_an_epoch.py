# labels-shuffled | permutation
# evidence: trained
import torch
from torch import nn
import torch.nn.functional as F


class Epochs:
    def __init__(self, **columns):
        self.columns = columns

    def batches(self, size):
        mixed = {name: column[torch.randperm(len(column))] for name, column in self.columns.items()}  #C
        for start in range(0, len(mixed["y"]), size):
            yield {name: column[start:start + size] for name, column in mixed.items()}


def main():
    torch.manual_seed(0)
    x = torch.randn(160, 4)
    data, model = Epochs(x=x, y=(x[:, 0] > 0).long()), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for batch in data.batches(10):
            loss = F.cross_entropy(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("trained")


main()
