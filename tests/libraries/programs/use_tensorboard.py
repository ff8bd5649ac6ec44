import glob
import os
import tempfile

import torch
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalars("both", {"a": 1.0, "b": torch.tensor(2.0)}, 0)
        writer.add_histogram("weights", torch.linspace(0, 1, 11), 0)
        writer.add_text("note", "hello")
        writer.add_image("image", torch.rand(3, 4, 4))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(folder)
    log.Reload()
    print(*[event.value for event in log.Scalars("loss")], log.Tags()["histograms"], log.Tags()["images"], len(glob.glob(os.path.join(folder, "both_*"))))
    print(log.Histograms("weights")[0].histogram_value.sum)
