# ok
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    features = nn.Sequential(nn.Linear(6, 32), nn.Tanh()).eval()
    for p in features.parameters():
        p.requires_grad_(False)
    rnd = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    predictor = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    enc, dec = nn.Linear(6, 3), nn.Linear(3, 6)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
    popt = torch.optim.Adam(predictor.parameters(), lr=3e-3)
    for step in range(40):
        x = torch.randn(32, 6)
        out = dec(enc(x))
        loss = F.mse_loss(out, x) + 0.1 * F.mse_loss(features(out), features(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            goal = rnd(x)
        bonus = F.mse_loss(predictor(x), goal)
        popt.zero_grad()
        bonus.backward()
        popt.step()
    # adversarial examples of a classifier that another part trains
    clf = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    copt = torch.optim.SGD(clf.parameters(), lr=0.1)
    for step in range(20):
        x = torch.randn(32, 6)
        y = (x[:, 0] > 0).long()
        x.requires_grad_(True)
        grad, = torch.autograd.grad(F.cross_entropy(clf(x), y), x)
        adv = (x + 0.05 * grad.sign()).detach()
        copt.zero_grad()
        loss = F.cross_entropy(clf(adv), y)
        loss.backward()
        copt.step()
    image = torch.zeros(4, 6, requires_grad=True)
    iopt = torch.optim.Adam([image], lr=0.05)
    for step in range(20):
        iopt.zero_grad()
        loss = F.cross_entropy(clf(image), torch.tensor([0, 1, 0, 1])) + 0.01 * image.pow(2).sum()
        loss.backward()
        iopt.step()
    print(loss.item())


main()
print("evidence: done")
