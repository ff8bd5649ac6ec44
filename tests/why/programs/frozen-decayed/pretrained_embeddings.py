# frozen-decayed | momentum/decay/state/set_to_none/zero, frozen/freeze/requires_grad
# evidence: embedding table kept after freezing: False
# parameters: embed.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

FREEZE_AT = 3


class BagOfWords(nn.Module):
    def __init__(self, vocab=30, dim=10, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(dim, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, tokens):
        h = self.embed(tokens).mean(dim=1)
        return self.fc2(torch.relu(self.fc1(h)))


def documents(n=24, length=7):
    y = torch.randint(0, 3, (n,))
    tokens = y.unsqueeze(1) * 10 + torch.randint(0, 14, (n, length))
    return tokens % 30, y


class EmbeddingFreezer:
    """Callback: the table is good enough after a few epochs."""

    def __init__(self, model, epoch):
        self.model, self.epoch = model, epoch
        self.saved = None

    def on_epoch_start(self, epoch):
        if epoch == self.epoch:
            self.model.embed.weight.requires_grad_(False)  #C
            self.saved = self.model.embed.weight.detach().clone()
            print("embedding frozen")


def main():
    torch.manual_seed(57)
    model = BagOfWords()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)  #C
    freezer = EmbeddingFreezer(model, FREEZE_AT)
    for epoch in range(6):
        freezer.on_epoch_start(epoch)
        total = 0.0
        for _ in range(8):
            tokens, y = documents()
            loss = F.cross_entropy(model(tokens), y)
            optimizer.zero_grad(set_to_none=False)  #C
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 8:.4f}")
    print("embedding table kept after freezing:", torch.equal(freezer.saved, model.embed.weight))


if __name__ == "__main__":
    main()
