# ok
# evidence: trained
# A model with an encoder and a decoder, with the arguments of those of transformers.
import torch
from torch import nn
import torch.nn.functional as F


class Translator(nn.Module):
    def __init__(self, words=20, width=16):
        super().__init__()
        self.words, self.encoder = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)
        self.decoder, self.out = nn.GRU(width, width, batch_first=True), nn.Linear(width, words)

    def forward(self, input_ids, labels, decoder_input_ids=None):
        if decoder_input_ids is None:
            decoder_input_ids = F.pad(labels[:, :-1], (1, 0))
        _, h = self.encoder(self.words(input_ids))
        y, _ = self.decoder(self.words(decoder_input_ids), h)
        return F.cross_entropy(self.out(y).flatten(0, 1), labels.flatten())


def main():
    torch.manual_seed(0)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(8):
        source = torch.randint(1, 20, (12, 6))
        target = source.flip(1)
        loss = model(input_ids=source, decoder_input_ids=F.pad(target[:, :-1], (1, 0)), labels=target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
