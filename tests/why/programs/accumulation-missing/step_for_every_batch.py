# accumulation-missing | divided, accumulated
# evidence: optimizer steps: 24
import torch
from torch import nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, accumulate=4):
        self.model, self.accumulate, self.steps = model, accumulate, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(self, batches):
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y) / self.accumulate  #C
            loss.backward()
            self.optimizer.step()  #C
            self.optimizer.zero_grad()
            self.steps += 1


def main():
    torch.manual_seed(0)
    trainer = Trainer(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)))
    trainer.train([(x, (x[:, 0] > 0).long()) for x in torch.randn(24, 8, 5)])
    print(f"optimizer steps: {trainer.steps}")


main()
