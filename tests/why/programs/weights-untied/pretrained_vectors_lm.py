# weights-untied | tied/tie/untied/share/shared
# evidence: output layer uses the embedding table: False
# parameters: embed.weight, out.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, DIM = 18, 16


class TiedLM(nn.Module):
    """Embedding and output layer share one table."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.mix = nn.Sequential(nn.Linear(3 * DIM, 32), nn.Tanh(), nn.Linear(32, DIM))
        self.out = nn.Linear(DIM, VOCAB, bias=False)
        self.out.weight = self.embed.weight

    def load_vectors(self, vectors):
        self.embed = nn.Embedding.from_pretrained(vectors, freeze=False)  #C

    def forward(self, context):
        return self.out(self.mix(self.embed(context).flatten(1)))


def ring_vectors():
    angle = torch.arange(VOCAB) * 6.2832 / VOCAB
    ks = torch.arange(1, DIM // 2 + 1).unsqueeze(1)
    return 0.5 * torch.cat([torch.cos(ks * angle), torch.sin(ks * angle)]).t().contiguous()


def ngrams(n=32):
    start = torch.randint(0, VOCAB, (n,))
    step = torch.randint(1, 4, (n,))
    seq = (start.unsqueeze(1) + step.unsqueeze(1) * torch.arange(4)) % VOCAB
    return seq[:, :3], seq[:, 3]


def main():
    torch.manual_seed(62)
    model = TiedLM()
    model.load_vectors(ring_vectors())  #C
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(50):
        context, nxt = ngrams()
        loss = F.cross_entropy(model(context), nxt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print("output layer uses the embedding table:", model.out.weight is model.embed.weight)


if __name__ == "__main__":
    main()
