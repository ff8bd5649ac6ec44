# never-required-grad | none | requires_grad, false/not/never
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)


def total_variation(img):
    return (img[..., 1:, :] - img[..., :-1, :]).abs().mean() + (img[..., :, 1:] - img[..., :, :-1]).abs().mean()


features = nn.Conv2d(3, 4, 3, padding=1)
canvas = torch.rand(1, 3, 8, 8)  #C
style = torch.rand(1, 4, 8, 8)
loss = (features(canvas) - style).pow(2).mean() + 0.1 * total_variation(canvas)
loss.backward()
step = canvas.grad  #R
print("evidence:", step is None)
