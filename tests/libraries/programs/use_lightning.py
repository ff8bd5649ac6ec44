import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


L.seed_everything(0, verbose=False)
x, unseen = torch.randn(64, 4), torch.randn(64, 4)
train = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(unseen, unseen.sum(1, keepdim=True)), batch_size=32)
with tempfile.TemporaryDirectory() as folder:
    checkpoint = ModelCheckpoint(folder, monitor="val")
    trainer = L.Trainer(max_epochs=3, accelerator="cpu", callbacks=[checkpoint, EarlyStopping("val")], logger=False,
                        enable_progress_bar=False, gradient_clip_val=1.0)
    model = Model()
    trainer.fit(model, train, val)
    again = Model.load_from_checkpoint(checkpoint.best_model_path)
print(trainer.global_step, trainer.callback_metrics["val"].item(), again.hparams.width, again.net(x).norm().item())
