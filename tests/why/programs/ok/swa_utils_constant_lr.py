# ok
# evidence: averaged count: 12, swa loss below start: True
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel


class BowClassifier(nn.Module):
    def __init__(self, vocab=40, dim=12, classes=3):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.fc = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.fc(self.bag(ids))


def documents(n, topics):
    y = torch.randint(0, 3, (n,))
    ids = torch.multinomial(topics[y], 8, replacement=True)
    return ids, y


def main():
    torch.manual_seed(61)
    topics = torch.rand(3, 40).pow(3)
    model = BowClassifier()
    swa_model = AveragedModel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    swa_scheduler = SWALR(optimizer, swa_lr=1e-2, anneal_epochs=2)
    test_ids, test_y = documents(128, topics)
    with torch.no_grad():
        start = F.cross_entropy(model(test_ids), test_y).item()
    for epoch in range(24):
        ids, y = documents(64, topics)
        for chunk, label in zip(ids.split(16), y.split(16)):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(chunk), label)
            loss.backward()
            optimizer.step()
        if epoch >= 12:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        if epoch % 6 == 5:
            print(f"epoch {epoch + 1} loss {loss.item():.3f} lr {optimizer.param_groups[0]['lr']:.4f}")
    with torch.no_grad():
        end = F.cross_entropy(swa_model(test_ids), test_y).item()
    print(f"averaged count: {int(swa_model.n_averaged)}, swa loss below start: {end < start}")


if __name__ == "__main__":
    main()
