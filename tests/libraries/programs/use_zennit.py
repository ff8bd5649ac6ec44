import torch
from zennit.attribution import Gradient, SmoothGrad, IntegratedGradients
from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat, GuidedBackprop
from zennit.canonizers import SequentialMergeBatchNorm

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(72, 5),
).eval()
x = torch.randn(2, 3, 8, 8)
composite = EpsilonGammaBox(low=-3.0, high=3.0, canonizers=[SequentialMergeBatchNorm()])
for c in (composite, EpsilonPlusFlat(), GuidedBackprop()):
    with Gradient(model=model, composite=c) as attributor:
        out, relevance = attributor(x, torch.eye(5)[[0, 1]])
    print(out.sum().item(), relevance.sum().item(), relevance.abs().max().item())
with SmoothGrad(model, noise_level=0.1, n_iter=4) as a:
    print(a(x, torch.eye(5)[[0, 1]])[1].abs().sum().item())
