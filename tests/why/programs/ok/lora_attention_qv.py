# ok
# evidence: trainable tensors: 6, merged output equal: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self, dim, rank):
        super().__init__()
        self.down = nn.Linear(dim, rank, bias=False)
        self.up = nn.Linear(rank, dim, bias=False)
        nn.init.normal_(self.down.weight, std=0.2)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.up(self.down(x))


class SelfAttention(nn.Module):
    def __init__(self, dim=16, rank=2):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.lora_q, self.lora_v = Adapter(dim, rank), Adapter(dim, rank)

    def forward(self, x):
        q = self.q(x) + self.lora_q(x)
        k = self.k(x)
        v = self.v(x) + self.lora_v(x)
        att = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
        return x + self.o(att @ v)

    @torch.no_grad()
    def merge(self):
        for lin, lora in ((self.q, self.lora_q), (self.v, self.lora_v)):
            lin.weight += lora.up.weight @ lora.down.weight
            lora.up.weight.zero_()


class Model(nn.Module):
    def __init__(self, dim=16, classes=4):
        super().__init__()
        self.embed = nn.Embedding(20, dim)
        self.attn = SelfAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.cls(self.norm(self.attn(self.embed(ids))).mean(1))


def run(model, params, ids, label, epochs, name):
    opt = torch.optim.AdamW(params, lr=1e-2, weight_decay=0.0)
    losses = []
    for epoch in range(epochs):
        for idx in torch.randperm(len(ids)).split(32):
            loss = F.cross_entropy(model(ids[idx]), label[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"{name} epoch {epoch} loss {sum(losses[-4:]) / 4:.4f}")
    return losses


def main():
    torch.manual_seed(9)
    model = Model()
    ids = torch.randint(0, 20, (128, 6))
    for name, p in model.named_parameters():
        p.requires_grad = "lora" not in name
    base = [p for p in model.parameters() if p.requires_grad]
    run(model, base, ids, (ids[:, 0] < 10).long() + 2 * (ids[:, 1] < 10).long(), 3, "pretrain")

    for name, p in model.named_parameters():
        p.requires_grad = "lora" in name or name.startswith("cls")
    trainable = [p for p in model.parameters() if p.requires_grad]
    label = (ids == 3).any(1).long() + 2 * (ids == 5).any(1).long()
    losses = run(model, trainable, ids, label, 10, "adapt")
    with torch.no_grad():
        split = model(ids)
        model.attn.merge()
        merged = model(ids)
    print(f"trainable tensors: {len(trainable)}, merged output equal: "
          f"{torch.allclose(split, merged, atol=1e-4)}, loss went down: {sum(losses[-4:]) < sum(losses[:4])}")


if __name__ == "__main__":
    main()
