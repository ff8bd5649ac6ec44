# not-in-optimizer | optimizer
# evidence: parameters that stayed as initialised: 5
# parameters: pos_embed, norm1.weight, norm2.weight, norm_out.weight, tok.weight
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(99)

VOCAB, LENGTH, DIM = 10, 5, 24


class SortingTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, LENGTH, DIM))
        self.norm1 = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.norm2 = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)
        self.norm_out = nn.LayerNorm(DIM)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.tok(ids) + self.pos_embed
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        att = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(DIM), dim=-1)
        x = x + self.proj(att @ v)
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return self.out(self.norm_out(x))


def configure_optimizer(model, lr=3e-3, weight_decay=0.01):
    decay, no_decay = [], []
    for module in model.modules():
        if isinstance(module, nn.Linear):  #C
            decay.append(module.weight)
            no_decay.append(module.bias)
        elif isinstance(module, nn.LayerNorm):  #C
            no_decay.append(module.bias)
    groups = [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)  #C


def main():
    model = SortingTransformer()
    opt = configure_optimizer(model)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(60):
        ids = torch.randint(0, VOCAB, (48, LENGTH))
        target = ids.sort(dim=1).values
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    same = [n for n, p in model.named_parameters() if torch.equal(p, start[n])]
    print("parameters that stayed as initialised:", len(same))


if __name__ == "__main__":
    main()
