# ok
# evidence: scaler enabled: False, loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_loader():
    x = torch.randn(128, 12)
    y = (x[:, :4].sum(1) > 0).float()
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


def main():
    torch.manual_seed(53)
    device = "cpu"
    use_amp = device == "cuda"
    loader = build_loader()
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    scaler = torch.amp.GradScaler(device, enabled=use_amp)
    history = []
    for epoch in range(6):
        running = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type=device, enabled=use_amp):
                loss = criterion(model(x).squeeze(1), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            running += loss.item()
        history.append(running / len(loader))
        print(f"epoch {epoch} loss {history[-1]:.4f}")
    print(f"scaler enabled: {scaler.is_enabled()}, loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
