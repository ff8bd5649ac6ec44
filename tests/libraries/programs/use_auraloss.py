import auraloss
import torch

torch.manual_seed(0)
prediction, target = torch.randn(2, 1, 4000, requires_grad=True), torch.randn(2, 1, 4000)
for loss_function in (auraloss.freq.STFTLoss(), auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[256, 512], hop_sizes=[64, 128],
                      win_lengths=[256, 512]), auraloss.time.SISDRLoss(), auraloss.time.ESRLoss(), auraloss.time.LogCoshLoss()):
    loss = loss_function(prediction, target)
    (gradient,) = torch.autograd.grad(loss, prediction)
    print(type(loss_function).__name__, loss.item(), gradient.norm().item())
