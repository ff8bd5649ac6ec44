import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
flow = Flow(CompositeTransform([ReversePermutation(3), MaskedAffineAutoregressiveTransform(3, 8)]), StandardNormal([3]))
loss = -flow.log_prob(torch.randn(10, 3)).mean()
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in flow.parameters() if p.grad is not None), flow.sample(4).norm().item())
