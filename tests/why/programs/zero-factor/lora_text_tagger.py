# zero-factor | zero/0
# evidence: low-rank factors moved: False
# parameters: proj.lora_a, proj.lora_b
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.scaling = alpha / rank
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.empty(base.out_features, rank))
        self.reset_lora()

    def reset_lora(self):
        nn.init.zeros_(self.lora_a)  #C
        nn.init.zeros_(self.lora_b)  #C

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.t() @ self.lora_b.t())  #C


class Tagger(nn.Module):
    def __init__(self, vocab=40, dim=16, n_tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.emb.weight.requires_grad_(False)
        self.proj = LoRALinear(nn.Linear(dim, dim))
        self.norm = nn.LayerNorm(dim)
        self.tag = nn.Linear(dim, n_tags)

    def forward(self, ids):
        return self.tag(self.norm(F.gelu(self.proj(self.emb(ids)))))


def sentences(n, length=8, vocab=40):
    ids = torch.randint(0, vocab, (n, length))
    return ids, ids % 5


def main():
    model = Tagger()
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    print("trainable:", sum(p.numel() for p in trainable.values()))
    optimizer = torch.optim.AdamW(trainable.values(), lr=5e-3)
    before = [model.proj.lora_a.detach().clone(), model.proj.lora_b.detach().clone()]
    for step in range(40):
        ids, tags = sentences(32)
        loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(trainable.values()), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    after = [model.proj.lora_a, model.proj.lora_b]
    print("low-rank factors moved:", any(not torch.equal(a, b) for a, b in zip(before, after)))


if __name__ == "__main__":
    main()
