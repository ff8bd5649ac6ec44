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
        writer.add_hparams({"lr": 0.1, "name": "adam", "nesterov": True}, {"score": 0.5}, {"name": ["adam", "sgd"]}, run_name="run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    log = EventAccumulator(folder)
    log.Reload()
    print(*[event.value for event in log.Scalars("loss")], log.Tags()["histograms"], log.Tags()["images"], len(glob.glob(os.path.join(folder, "both_*"))))
    print(log.Histograms("weights")[0].histogram_value.sum)
    run = EventAccumulator(os.path.join(folder, "run"))
    run.Reload()
    print(run.Scalars("score")[0].value)
    for content in run.PluginTagToContent("hparams").values():
        print(HParamsPluginData.FromString(content))
