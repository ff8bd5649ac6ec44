# data-constant | batch/data/input/window, same/identical/first/one
# evidence: different start positions used in training: 8
import torch
from torch import nn
import torch.nn.functional as F

POEM = ("two roads diverged in a yellow wood and sorry i could not travel both and be one traveler "
        "long i stood and looked down one as far as i could to where it bent in the undergrowth ")


class CausalBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.ln2(x))


class PoemGPT(nn.Module):
    def __init__(self, vocab, dim=16, context=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context, dim)
        self.block = CausalBlock(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        return self.head(self.block(x))


class Batches:
    """Walks over the windows of a text in random order."""

    def __init__(self, data, context=12, batch=8):
        self.data, self.context, self.batch = data, context, batch
        self.order = torch.randperm(len(data) - context - 1).tolist()
        self.cursor = 0
        self.used = set()

    def next(self):
        starts = self.order[self.cursor:self.cursor + self.batch]  #C
        if self.cursor + self.batch > len(self.order):
            self.cursor = 0
        self.used.update(starts)
        x = torch.stack([self.data[s:s + self.context] for s in starts])
        y = torch.stack([self.data[s + 1:s + self.context + 1] for s in starts])
        return x, y


def main():
    torch.manual_seed(0)
    chars = sorted(set(POEM))
    data = torch.tensor([chars.index(c) for c in POEM])
    batches = Batches(data)
    model = PoemGPT(len(chars))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(40):
        x, y = batches.next()  #C
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss.item():.3f}")
    print("different start positions used in training:", len(batches.used))


if __name__ == "__main__":
    main()
