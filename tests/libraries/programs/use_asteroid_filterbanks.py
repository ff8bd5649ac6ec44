import torch
from asteroid_filterbanks import make_enc_dec, STFTFB, FreeFB, AnalyticFreeFB, ParamSincFB, Encoder, Decoder
from asteroid_filterbanks.transforms import mag, apply_mag_mask

torch.manual_seed(0)
for name, extra in (("free", {}), ("stft", {}), ("analytic_free", {}), ("param_sinc", {})):
    enc, dec = make_enc_dec(name, n_filters=32, kernel_size=16 if name != "param_sinc" else 17, stride=8, **extra)
    x = torch.randn(2, 1, 128, requires_grad=True)
    out = dec(enc(x))
    out.pow(2).mean().backward()
    print(name, out.sum().item(), x.grad.abs().sum().item())
