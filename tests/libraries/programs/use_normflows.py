import normflows as nf
import torch

torch.manual_seed(0)
flows = [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=True)), nf.flows.Permute(2, mode="swap"), nf.flows.Planar((2,))][:2]
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), flows)
loss = model.forward_kld(torch.randn(20, 2))
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None), model.sample(5)[0].norm().item())
