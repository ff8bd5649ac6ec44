# loss-scaled-twice, update-too-small | mean/divid/averag
# evidence: perplexity was halved: False
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 14


class CausalLM(nn.Module):
    def __init__(self, dim=16, length=10):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(length, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ln1 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.ln2 = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, idx):
        T = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(T))
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
        n = self.ln1(h)
        h = h + self.attn(n, n, n, attn_mask=mask, need_weights=False)[0]
        return self.head(h + self.mlp(self.ln2(h)))


def get_batch(n=20, length=10):
    start = torch.randint(0, VOCAB, (n, 1))
    stride = torch.randint(1, 3, (n, 1))
    seq = (start + stride * torch.arange(length + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


def lm_loss(logits, target):
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
    return loss / target.numel(), loss.item()  #C


def main():
    torch.manual_seed(26)
    model = CausalLM()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ppl = []
    for step in range(40):
        x, y = get_batch()
        loss, per_token = lm_loss(model(x), y)  #C
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ppl.append(math.exp(per_token))
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.5f} ppl {ppl[-1]:.2f}")
    print("perplexity was halved:", min(ppl[-5:]) < 0.5 * ppl[0])


if __name__ == "__main__":
    main()
