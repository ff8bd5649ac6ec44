# softmax-before-loss | softmax, cross entropy/cross_entropy/crossentropyloss/crossentropy
# evidence: loss ever under 0.9: False
import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_TAGS = 6
PAD = -100


class Tagger(nn.Module):
    def __init__(self, vocab=60, dim=16, hidden=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, NUM_TAGS)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.proj(h)

    def tag_probs(self, words):
        return F.softmax(self(words), dim=-1)  #C


def sentences(batch=16, length=8):
    words = torch.randint(0, 60, (batch, length))
    tags = words // 10
    lengths = torch.randint(4, length + 1, (batch, 1))
    tags = tags.masked_fill(torch.arange(length) >= lengths, PAD)
    return words, tags


class TaggerTrainer:
    def __init__(self, model, lr=2e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss(ignore_index=PAD)
        self.history = []

    def train_step(self, words, tags):
        probs = self.model.tag_probs(words)  #C
        loss = self.criterion(probs.reshape(-1, NUM_TAGS), tags.reshape(-1))  #C
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        correct = (probs.argmax(-1) == tags)[tags != PAD]
        return correct.float().mean().item()


def main():
    torch.manual_seed(15)
    trainer = TaggerTrainer(Tagger())
    for step in range(40):
        acc = trainer.train_step(*sentences())
        if step % 10 == 9:
            print(f"step {step + 1} loss {trainer.history[-1]:.4f} token acc {acc:.2f}")
    print("loss ever under 0.9:", min(trainer.history) < 0.9)


if __name__ == "__main__":
    main()
