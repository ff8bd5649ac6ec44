# weights-untied | tied/tie/untied/share/shared/copy
# evidence: decoder is the transpose of the encoder: False
# parameters: encoder.weight, decoder.weight
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TiedAutoencoder(nn.Module):
    """Linear autoencoder whose decoder is the transposed encoder."""

    def __init__(self, n_in=12, code=3):
        super().__init__()
        self.encoder = nn.Linear(n_in, code)
        self.decoder = nn.Linear(code, n_in)
        with torch.no_grad():
            self.decoder.weight.copy_(self.encoder.weight.t())  #C

    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))


def low_rank(n=200, n_in=12, rank=3):
    return torch.randn(n, rank) @ torch.randn(rank, n_in) * 0.5


def train(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    loss_fn = nn.MSELoss()
    for epoch in range(1, epochs + 1):
        total = 0.0
        for (x,) in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), x)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 0:
            print(f"epoch {epoch} reconstruction {total / len(loader):.4f}")


def main():
    torch.manual_seed(35)
    loader = DataLoader(TensorDataset(low_rank()), batch_size=25, shuffle=True)
    model = TiedAutoencoder()
    train(model, loader, epochs=6, lr=0.1)
    w_enc, w_dec = model.encoder.weight, model.decoder.weight
    print("decoder is the transpose of the encoder:", torch.allclose(w_enc.t(), w_dec, atol=1e-4))


if __name__ == "__main__":
    main()
