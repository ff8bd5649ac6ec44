# train-in-validation | dropout, self.training
# evidence: False
# A fused attention has its dropout in evaluation, too.
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.dropout = dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)  #C
        return self.out(y.transpose(1, 2).flatten(2))


model = nn.Sequential(nn.Linear(4, 16), Attention(16, 0.2), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 6, 4)
y = (x.mean((1, 2)) > 0).long()
for epoch in range(4):
    model.train()
    for batch in torch.randperm(64).split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[batch]).mean(1), y[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print("accuracy", (model(x).mean(1).argmax(1) == y).float().mean().item())
with torch.no_grad():
    print("evidence:", torch.equal(model(x), model(x)))
