# hook-modified, zero-factor | hook
# evidence: embedding rows changed: 0
# parameters: tok.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)

BASE_VOCAB = [f"w{i}" for i in range(24)]
SPECIAL = ["<user>", "<bot>", "<eot>", "<sep>"]


class ChatLM(nn.Module):
    def __init__(self, vocab_size, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, 24, batch_first=True)
        self.out = nn.Linear(24, vocab_size)

    def forward(self, ids):
        h, _ = self.rnn(self.tok(ids))
        return self.out(h)


def keep_pretrained_rows(embedding, n_pretrained):
    """Only rows behind the pretrained ones receive updates."""
    rows = torch.zeros(embedding.num_embeddings, 1)
    rows[n_pretrained:] = 1.0
    embedding.weight.register_hook(lambda g: g * rows)  #C


def conversations(n, vocab):
    index = {w: i for i, w in enumerate(vocab)}
    body = torch.randint(0, len(BASE_VOCAB), (n, 6))
    left = torch.full((n, 1), index["<user>"])
    mid = torch.full((n, 1), index["<bot>"])
    end = torch.full((n, 1), index["<eot>"])
    sep = torch.full((n, 1), index["<sep>"])
    return torch.cat([left, body[:, :3], sep, mid, body[:, :3].flip(1), end], dim=1)


def main():
    vocab = list(BASE_VOCAB)
    vocab.extend(SPECIAL)
    model = ChatLM(len(vocab))
    keep_pretrained_rows(model.tok, n_pretrained=len(vocab))  #C
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    start = model.tok.weight.detach().clone()
    for step in range(30):
        ids = conversations(32, vocab)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, len(vocab)), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.4f}")
    changed = (model.tok.weight.detach() != start).any(dim=1).sum().item()
    print("embedding rows changed:", changed)


if __name__ == "__main__":
    main()
