import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(40, 4)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8)
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.5), loss)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(loss)})


@trainer.on(Events.EPOCH_COMPLETED)
def tell(engine):
    evaluator.run(loader)
    print(engine.state.epoch, engine.state.output, *evaluator.state.metrics.values())


trainer.run(loader, max_epochs=3)
