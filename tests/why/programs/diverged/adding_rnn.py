# diverged, exploding-gradient | lr/learning rate/clip/diverg
# evidence: every loss below 1000: False
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)


class AddingRNN(nn.Module):
    """Sums the two marked numbers of a sequence."""

    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(torch.eye(hidden))
            self.rnn.bias_hh_l0.zero_()
            self.rnn.bias_ih_l0.zero_()

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(1)


def adding_batch(n, length=100):
    values = torch.rand(n, length)
    marks = torch.zeros(n, length)
    first = torch.randint(0, length // 2, (n,))
    second = torch.randint(length // 2, length, (n,))
    marks[torch.arange(n), first] = 1.0
    marks[torch.arange(n), second] = 1.0
    return torch.stack([values, marks], dim=2), (values * marks).sum(dim=1)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def step(self, x, y):
        self.model.train()
        loss = F.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()  #C
        self.optimizer.step()  #C
        return loss.item()


def main():
    trainer = Trainer(AddingRNN(), lr=0.02)  #C
    losses = []
    for step in range(50):
        losses.append(trainer.step(*adding_batch(32)))
        if step % 10 == 0:
            print(f"step {step} mse {losses[-1]:.4g}")
    print("every loss below 1000:", all(v < 1000 for v in losses))


if __name__ == "__main__":
    main()
