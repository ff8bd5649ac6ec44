# zero-local-derivative | round, zero/0/dead/saturat
# evidence: analysis network moved: False
# parameters: analysis.0.weight, analysis.0.bias, analysis.2.weight, analysis.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(80)


class Quantizer(nn.Module):
    def __init__(self, levels=8):
        super().__init__()
        self.levels = levels

    def forward(self, x):
        x = torch.tanh(x) * (self.levels / 2)
        return torch.round(x) / (self.levels / 2)  #C


class TransformCoder(nn.Module):
    def __init__(self, frame=20, code=5):
        super().__init__()
        self.analysis = nn.Sequential(nn.Linear(frame, 32), nn.GELU(), nn.Linear(32, code))
        self.quantize = Quantizer()
        self.synthesis = nn.Sequential(nn.Linear(code, 32), nn.GELU(), nn.Linear(32, frame))

    def forward(self, x):
        return self.synthesis(self.quantize(self.analysis(x)))


def audio_frames(n, frame=20):
    t = torch.arange(frame) / frame
    freq = 1 + 3 * torch.rand(n, 1)
    phase = 6.28 * torch.rand(n, 1)
    return torch.sin(6.28 * freq * t + phase)


def psnr(model):
    with torch.no_grad():
        x = audio_frames(200)
        return -10 * torch.log10(F.mse_loss(model(x), x)).item()


def main():
    coder = TransformCoder()
    opt = torch.optim.Adam(coder.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
    before = [p.detach().clone() for p in coder.analysis.parameters()]
    for epoch in range(5):
        for _ in range(10):
            x = audio_frames(48)
            loss = F.mse_loss(coder(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        print(f"epoch {epoch} mse {loss.item():.4f} psnr {psnr(coder):.2f}")
    moved = any(not torch.equal(a, b) for a, b in zip(before, coder.analysis.parameters()))
    print("analysis network moved:", moved)


if __name__ == "__main__":
    main()
