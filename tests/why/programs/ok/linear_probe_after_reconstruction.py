# ok
# evidence: reconstruction improved: True, probe improved: True, encoder fixed in stage two: True
import torch
import torch.nn.functional as F
from torch import nn


def mixture(n, means):
    y = torch.randint(0, means.shape[0], (n,))
    return means[y] + 0.5 * torch.randn(n, means.shape[1]), y


def pretrain(encoder, decoder, means, steps=40):
    opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=5e-3)
    hist = []
    for _ in range(steps):
        x, _ = mixture(64, means)
        loss = F.mse_loss(decoder(encoder(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hist.append(loss.item())
    return hist


def probe(encoder, classifier, means, steps=40):
    encoder.requires_grad_(False)
    encoder.eval()
    opt = torch.optim.SGD(classifier.parameters(), lr=0.5)
    hist = []
    for _ in range(steps):
        x, y = mixture(64, means)
        with torch.no_grad():
            z = encoder(x)
        loss = F.cross_entropy(classifier(z), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hist.append(loss.item())
    return hist


def main():
    torch.manual_seed(11)
    means = 1.5 * torch.randn(5, 10)
    encoder = nn.Sequential(nn.Linear(10, 20), nn.ELU(), nn.Linear(20, 6))
    decoder = nn.Sequential(nn.Linear(6, 20), nn.ELU(), nn.Linear(20, 10))
    rec = pretrain(encoder, decoder, means)
    print(f"stage 1: {rec[0]:.3f} -> {rec[-1]:.3f}")

    frozen = [p.detach().clone() for p in encoder.parameters()]
    classifier = nn.Linear(6, 5)
    cls = probe(encoder, classifier, means)
    print(f"stage 2: {cls[0]:.3f} -> {cls[-1]:.3f}")
    fixed = all(torch.equal(a, b) for a, b in zip(frozen, encoder.parameters()))
    print(f"reconstruction improved: {sum(rec[-5:]) < sum(rec[:5])}, "
          f"probe improved: {sum(cls[-5:]) < sum(cls[:5])}, encoder fixed in stage two: {fixed}")


main()
