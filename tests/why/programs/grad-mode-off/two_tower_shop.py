# grad-mode-off | no_grad/grad mode/gradient mode/recording
# evidence: item tower moved: False
# parameters: item_emb.weight, item_mlp.0.weight, item_mlp.0.bias, item_mlp.2.weight, item_mlp.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)

N_USERS, N_ITEMS, GROUPS = 60, 40, 4


class TwoTower(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user_emb = nn.Embedding(N_USERS, dim)
        self.user_mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.item_emb = nn.Embedding(N_ITEMS, dim)
        self.item_mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def encode_users(self, users):
        return F.normalize(self.user_mlp(self.user_emb(users)), dim=-1)

    @torch.no_grad()  #C
    def encode_items(self, items):  #C
        """Vectors for training batches and for the search index."""
        return F.normalize(self.item_mlp(self.item_emb(items)), dim=-1)  #C

    def build_index(self):
        return self.encode_items(torch.arange(N_ITEMS))


def purchases(n):
    users = torch.randint(0, N_USERS, (n,))
    items = torch.randint(0, N_ITEMS // GROUPS, (n,)) * GROUPS + users % GROUPS
    return users, items


def recall_at_10(model):
    users = torch.arange(N_USERS)
    with torch.no_grad():
        scores = model.encode_users(users) @ model.build_index().t()
    top = scores.topk(10, dim=1).indices
    return ((top % GROUPS) == (users % GROUPS)[:, None]).float().mean().item()


def train(model, steps=40, temperature=0.1):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        users, items = purchases(64)
        u = model.encode_users(users)
        v = model.encode_items(items)
        negatives = model.encode_items(torch.randint(0, N_ITEMS, (32,)))
        pos = (u * v).sum(dim=1, keepdim=True)
        logits = torch.cat([pos, u @ negatives.t()], dim=1) / temperature
        loss = F.cross_entropy(logits, torch.zeros(len(users), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f} recall@10 {recall_at_10(model):.3f}")


def main():
    model = TwoTower()
    tower = list(model.item_emb.parameters()) + list(model.item_mlp.parameters())
    before = [p.detach().clone() for p in tower]
    train(model)
    print("item tower moved:", any(not torch.equal(a, b) for a, b in zip(before, tower)))


if __name__ == "__main__":
    main()
