# weights-untied | tied/tie/untied/share/shared/same storage/clone/copy
# evidence: input and output embeddings equal after training: False
# parameters: embed.weight, decoder.weight
import torch
import torch.nn as nn
import torch.nn.functional as F


class WordLM(nn.Module):
    def __init__(self, vocab=24, dim=16, tie_weights=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        if tie_weights:
            self.decoder.weight = nn.Parameter(self.embed.weight.clone())  #C

    def forward(self, tokens):
        h, _ = self.gru(self.embed(tokens))
        return self.decoder(h)


def corpus(n_tokens=400, vocab=24):
    walk = [0]
    jumps = torch.randint(1, 4, (n_tokens,)).tolist()
    for j in jumps:
        walk.append((walk[-1] + j) % vocab)
    return torch.tensor(walk)


def get_batch(stream, batch=12, length=10):
    i = torch.randint(0, len(stream) - length - 1, (batch,)).tolist()
    window = torch.stack([stream[k:k + length + 1] for k in i])
    return window[:, :-1], window[:, 1:]


def train(model, stream, steps=30):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(steps):
        x, y = get_batch(stream)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


def main():
    torch.manual_seed(31)
    model = WordLM()
    train(model, corpus())
    same = torch.equal(model.embed.weight, model.decoder.weight)
    print("input and output embeddings equal after training:", same)


if __name__ == "__main__":
    main()
