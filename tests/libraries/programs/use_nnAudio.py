import torch
from nnAudio.features import CQT1992v2, STFT, MelSpectrogram

torch.manual_seed(0)
x = torch.randn(1, 8000)
spectrogram = STFT(n_fft=256, hop_length=64, trainable=True, sr=8000, output_format="Magnitude", verbose=False)
out = spectrogram(x)
out.mean().backward()
print(out.shape, out.sum().item(), sum(p.grad.norm().item() for p in spectrogram.parameters()))
print(MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=64, verbose=False)(x).sum().item())
print(CQT1992v2(sr=8000, hop_length=128, fmin=200, n_bins=24, verbose=False)(x).sum().item())
