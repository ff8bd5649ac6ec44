# graph-kept, missing-detach | graph/history, item/detach
# evidence: smoothed loss is part of a graph: True
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmoothedValue:
    def __init__(self, momentum=0.9):
        self.momentum = momentum
        self.value = None

    def update(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = self.momentum * self.value + (1 - self.momentum) * x  #C


class SkipGram(nn.Module):
    def __init__(self, vocab=30, dim=10):
        super().__init__()
        self.center = nn.Embedding(vocab, dim)
        self.context = nn.Embedding(vocab, dim)

    def forward(self, center, context):
        return (self.center(center) * self.context(context)).sum(-1)


def pairs(n=480, vocab=30):
    c = torch.randint(0, vocab, (n,))
    near = (c + torch.randint(1, 3, (n,))) % vocab
    far = torch.randint(0, vocab, (n,))
    label = torch.arange(n) % 2
    return TensorDataset(c, torch.where(label.bool(), near, far), label.float())


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    display = SmoothedValue()
    for epoch in range(epochs):
        for i, (c, o, label) in enumerate(loader):
            loss = F.binary_cross_entropy_with_logits(model(c, o), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            display.update(loss)  #C
            if i % 8 == 0:
                print(f"epoch {epoch} batch {i} smoothed loss {float(display.value):.4f}")
    return display


def main():
    torch.manual_seed(28)
    display = train(SkipGram(), DataLoader(pairs(), batch_size=20, shuffle=True))
    print("smoothed loss is part of a graph:", torch.is_tensor(display.value) and display.value.requires_grad)


if __name__ == "__main__":
    main()
