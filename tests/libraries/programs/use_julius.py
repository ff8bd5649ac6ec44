import julius
import torch

torch.manual_seed(0)
x = torch.randn(2, 800, requires_grad=True)
parts = (julius.resample_frac(x, 8, 5), julius.lowpass_filter(x, 0.1), julius.fftconv.fft_conv1d(x[None], torch.ones(2, 2, 33)),
         julius.SplitBands(8000, n_bands=3)(x))
for part in parts:
    (gradient,) = torch.autograd.grad(part.pow(2).sum(), x)
    print(part.shape, part.abs().sum().item(), gradient.norm().item())
