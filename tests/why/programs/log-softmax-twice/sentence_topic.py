# log-softmax-twice | log_softmax/logsoftmax/log-softmax/log softmax
# evidence: outputs were normalised before the criterion: True
import torch
import torch.nn as nn
import torch.optim as optim

VOCAB, TOPICS, LENGTH = 40, 4, 10


class TopicClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(VOCAB, 16, mode="mean")
        self.fc = nn.Linear(16, TOPICS)
        self.out = nn.LogSoftmax(dim=-1)  #C

    def forward(self, tokens):
        return self.out(self.fc(self.embed(tokens)))  #C


def batches(n_batches, batch_size=24):
    for _ in range(n_batches):
        topic = torch.randint(0, TOPICS, (batch_size,))
        low = topic.unsqueeze(1) * (VOCAB // TOPICS)
        topical = low + torch.randint(0, VOCAB // TOPICS, (batch_size, LENGTH))
        noise = torch.randint(0, VOCAB, (batch_size, LENGTH))
        keep = torch.rand(batch_size, LENGTH) < 0.5
        yield torch.where(keep, topical, noise), topic


def run():
    torch.manual_seed(7)
    model = TopicClassifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    for step, (tokens, topic) in enumerate(batches(30)):
        optimizer.zero_grad()
        scores = model(tokens)
        loss = criterion(scores, topic)  #C
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    mass = scores.exp().sum(dim=-1)
    done = torch.allclose(mass, torch.ones_like(mass), atol=1e-4)
    print(f"outputs were normalised before the criterion: {done}")


if __name__ == "__main__":
    run()
