import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TimeSeriesDataSet

pl.seed_everything(0, verbose=False)
frame = pd.DataFrame({"t": np.tile(np.arange(40), 2), "series": np.repeat(["a", "b"], 40),
                      "value": np.sin(np.arange(80) / 5) + np.repeat([0.0, 2.0], 40)})
dataset = TimeSeriesDataSet(frame, time_idx="t", target="value", group_ids=["series"], max_encoder_length=10, max_prediction_length=4,
                            time_varying_unknown_reals=["value"])
model = NBeats.from_dataset(dataset, learning_rate=0.01, widths=[16, 32], backcast_loss_ratio=0.1, num_blocks=[1, 1],
                            num_block_layers=[2, 2])
loader = dataset.to_dataloader(train=False, batch_size=16, num_workers=0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for x, (target, _) in list(loader)[:3]:
    loss = (model(x)["prediction"].squeeze(-1) - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
