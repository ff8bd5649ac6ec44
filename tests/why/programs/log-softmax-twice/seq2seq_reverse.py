# log-softmax-twice, softmax-before-loss | softmax, cross_entropy/crossentropy/crossentropyloss/cross entropy
# evidence: scores handed to the criterion were log-probabilities: True
import torch
import torch.nn as nn

VOCAB, SOS = 12, 0


class Seq2Seq(nn.Module):
    def __init__(self, dim=20):
        super().__init__()
        self.src = nn.Embedding(VOCAB, dim)
        self.tgt = nn.Embedding(VOCAB, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, source, target_in):
        _, state = self.encoder(self.src(source))
        h, _ = self.decoder(self.tgt(target_in), state)
        return torch.log(torch.softmax(self.out(h), dim=-1) + 1e-9)  #C


def reversal_batch(n=24, length=5):
    source = torch.randint(1, VOCAB, (n, length))
    target = source.flip(1)
    target_in = torch.cat([torch.full((n, 1), SOS), target[:, :-1]], dim=1)
    return source, target_in, target


def main():
    torch.manual_seed(18)
    model = Seq2Seq()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
    for step in range(40):
        source, target_in, target = reversal_batch()
        scores = model(source, target_in)
        loss = criterion(scores.flatten(0, 1), target.flatten())  #C
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    total = scores.exp().sum(-1)
    print(
        "scores handed to the criterion were log-probabilities:",
        torch.allclose(total, torch.ones_like(total), atol=1e-3),
    )


if __name__ == "__main__":
    main()
