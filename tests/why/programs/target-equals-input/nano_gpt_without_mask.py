# target-equals-input
# evidence: done
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q = q.view(B, T, self.heads, -1).transpose(1, 2)
        k = k.view(B, T, self.heads, -1).transpose(1, 2)
        v = v.view(B, T, self.heads, -1).transpose(1, 2)
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop)  #C
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads, dropout)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block_size, dim=48, heads=4, layers=2, dropout=0.0):
        super().__init__()
        self.block_size = block_size
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(block_size, dim)
        self.h = nn.ModuleList(Block(dim, heads, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -self.block_size:])
            idx = torch.cat([idx, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return idx


def markov_stream(n, vocab, g):
    """Each symbol has two successors; which one follows depends on a coin."""
    succ = torch.randint(vocab, (vocab, 2), generator=g)
    coins = torch.randint(2, (n,), generator=g)
    out = [0]
    for i in range(n - 1):
        out.append(int(succ[out[-1], coins[i]]))
    return torch.tensor(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=150)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--block-size", type=int, default=24)
    a = p.parse_args()
    torch.manual_seed(0)
    data = markov_stream(4000, 30, torch.Generator().manual_seed(3))
    model = GPT(30, a.block_size)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    for it in range(a.iters):
        ix = torch.randint(len(data) - a.block_size - 1, (16,)).tolist()
        x = torch.stack([data[i:i + a.block_size] for i in ix])
        y = torch.stack([data[i + 1:i + a.block_size + 1] for i in ix])
        _, loss = model(x, y)  #C
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 50 == 0:
            print(f"iter {it} loss {loss.item():.4f}")
    print(f"final loss {loss.item():.4f}")
    seqs = model.generate(data[:8][None], 40)[0]
    pairs = {(int(p), int(q)) for p, q in zip(data[:-1], data[1:])}
    legal = sum((int(p), int(q)) in pairs for p, q in zip(seqs[8:-1], seqs[9:])) / (len(seqs) - 9)
    print(f"legal transitions in sample {legal:.2f}")


if __name__ == "__main__":
    main()
print("evidence: done")
