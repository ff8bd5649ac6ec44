# not-in-optimizer | optimizer, parameter
# evidence: positions among the parameters: False
import torch
from torch import nn


class OrderNet(nn.Module):
    def __init__(self, vocab=12, dim=24, length=6, classes=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim)).unsqueeze(0)  #C
        layer = nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        h = self.encoder(self.tok(tokens) + self.pos)
        return self.head(h.mean(1))


def make_data(n, length=6, vocab=12):
    x = torch.randint(0, vocab, (n, length))
    # is the first token larger than the last one?
    return x, (x[:, 0] > x[:, -1]).long()


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    torch.manual_seed(2)
    x, y = make_data(512)
    xv, yv = make_data(256)
    model = OrderNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() / 8
        print(f"epoch {epoch} loss {total:.4f} val acc {accuracy(model, xv, yv):.3f}")
    print("positions among the parameters:", "pos" in dict(model.named_parameters()))


if __name__ == "__main__":
    main()
