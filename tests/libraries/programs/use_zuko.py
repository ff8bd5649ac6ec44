import torch
import zuko

torch.manual_seed(0)
for kind in (zuko.flows.MAF, zuko.flows.NSF):
    flow = kind(features=3, context=2, transforms=2, hidden_features=(8,))
    loss = -flow(torch.randn(6, 2)).log_prob(torch.randn(6, 3)).mean()
    loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in flow.parameters()))
