# loss-requires-grad-patch | none | requires_grad, leaf/history/connect
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)


class DiceLoss(nn.Module):
    def forward(self, logits, mask):
        pred = (torch.sigmoid(logits) > 0.5).float()
        inter = (pred * mask).sum()
        return 1 - 2 * inter / (pred.sum() + mask.sum() + 1e-6)


unet = nn.Conv2d(1, 1, 3, padding=1)
criterion = DiceLoss()
image, mask = torch.randn(2, 1, 6, 6), torch.randint(0, 2, (2, 1, 6, 6)).float()
loss = criterion(unet(image), mask)
loss.requires_grad_(True)  #C
loss.backward()
g = unet.weight.grad  #R
print("evidence:", g is None, loss.is_leaf)
