"""`whygrad ask`: questions in words find what they are about; the four questions the project began from are answered."""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import interpreters
import pytest

import whygrad
from whygrad.why import ask
from whygrad.why.question_watch import QuestionWatch

SEEDS = Path(__file__).parents[1] / "seeds"
SOURCE = str(Path(whygrad.__file__).parents[1])


def asked(question: str, program: str, name: str = "/nowhere/asked.py") -> tuple[str, bool]:
    """The answer, and whether there is one, for a program that is run in this process."""
    text = program.replace("import torch.nn as nn", "import whygrad.nn as nn")
    text = text.replace("import torch\n", "import whygrad as torch\n")
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "program"}
    heard = QuestionWatch(question, name, lambda: scope)
    error, line = "", 0
    whygrad.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        heard.start()
        try:
            exec(compile(text, name, "exec"), scope)
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0]}"
            where = raised.__traceback__
            while where is not None:
                line = where.tb_lineno if where.tb_frame.f_code.co_filename == name else line
                where = where.tb_next
            heard.stop()  # while the error is being handled, as in a program that it ends
        else:
            heard.stop()
    told = ask.reply(heard, error, line)
    return told["text"], told["found"]


TITLES = {
    "000": "Why is `grad_output.requires_grad` False in PyTorch?",
    "001": "Why is a Tensor with `requires_grad=False` retaining its gradient?",
    "002": "Why is output.grad None after loss.backward()?",
    "003": "Why is the gradient parameter necessary in PyTorch's backward function?",
}

# snippet -> words that the answer has
ANSWERS = {
    "000_1": ["line 6", "[no-create-graph]", "create_graph=True"],
    "000_2": ["line 8", "[gradient-shape-mismatch]", "create_graph=True"],
    "000_3": ["line 17", "[non-scalar-backward]", "y.sum().backward()", "create_graph=True"],
    "001_1": ["retains nothing", "a.grad", "line 15", "[never-required-grad]"],
    "001_2": ["line 5", "[grad-assigned]", "assigned by hand"],
    "001_3": ["line 13", "[grad-assigned]", "assigned by hand"],
    "002_1": ["line 12", "ends in line 7 with RuntimeError: self must be a matrix", "not a leaf", "retain_grad"],
    "002_2": ["line 14", "ends in line 7 with RuntimeError: self must be a matrix", "not a leaf", "retain_grad"],
    "002_3": ["line 14", "ends in line 8 with RuntimeError: self must be a matrix", "nothing is recorded", "raises"],
    "003_1": ["not necessary", "line 13", "one element"],
    "003_2": ["not necessary", "line 21", "one element"],
    "003_3": ["not necessary", "[1, 1], one element; gradient= is given, and is not needed"],
}


@pytest.mark.parametrize("snippet", ANSWERS)
def test_the_questions_it_began_from(snippet: str) -> None:
    text, found = asked(TITLES[snippet[:3]], (SEEDS / f"seed_{snippet}.py").read_text())
    assert found
    for words in ANSWERS[snippet]:
        assert words in text, text


TRAINING = """import torch
import torch.nn as nn
encoder, head = nn.Linear(3, 2), nn.Linear(2, 1)
x = torch.randn(4, 3)
hidden = torch.tanh(encoder(x))
out = head(hidden)
loss = out.pow(2).mean()
loss.backward()
w = encoder.weight
print(w.grad, hidden.grad, x.grad)
flag = hidden.requires_grad
try:
    loss.backward()
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(("question", "words"), [
    ("why is hidden.grad None", ["hidden.grad", "[non-leaf-no-retain]", "hidden.retain_grad()"]),
    ("Why is `hidden.grad` None??", ["[non-leaf-no-retain]"]),
    ("why hiden.grad is none", ["hidden.grad", "[non-leaf-no-retain]"]),
    ("is hidden.grad supposed to be empty", ["[non-leaf-no-retain]"]),
    ("why is encoder.weight.grad None", ["It is not None here", "Nothing is wrong", "[ok]"]),
    ("what is encoder.bias.grad", ["Nothing is wrong", "computed by the backward in line 8"]),
    ("why is x.grad None after loss.backward()", ["x.grad", "[never-required-grad]"]),
    ("why does hidden.requires_grad say True", ["requires_grad is True", "line 5"]),
    ("why does loss.backward() raise an error", ["[graph-freed]"]),
    ("RuntimeError: Trying to backward through the graph a second time. I call it once!", ["[graph-freed]"]),
    ("what happens in line 13", ["[graph-freed]"]),
    ("is the gradient argument of backward needed", ["not necessary", "`loss` has shape []"]),
])
def test_questions(question: str, words: list[str]) -> None:
    text, found = asked(question, TRAINING)
    assert found, text
    for word in words:
        assert word in text, text


def test_a_question_that_names_nothing_is_about_what_is_puzzling() -> None:
    program = ("import torch\nw = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
               "((w * 2).detach() + b).sum().backward()\nprint(b.grad, w.grad)\n")
    text, found = asked("My model does not learn at all. What is going on?", program)
    assert found
    assert "[detach]" in text


def test_a_question_about_another_program() -> None:
    text, found = asked("why is foo.grad None", TRAINING)
    assert not found
    assert "Nothing in this program fits" in text
    assert "hidden.grad" in text


def test_a_kept_gradient() -> None:
    text, _ = asked(TITLES["001"], "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n"
                    "w.requires_grad_(False)\nprint(w.grad)\n")
    assert "[stale-grad-after-freeze]" in text


def test_grad_output_with_create_graph() -> None:
    program = "import torch\nx = torch.ones(2, requires_grad=True)\n(x ** 2).sum().backward(create_graph=True)\n"
    text, found = asked(TITLES["000"], program)
    assert found
    assert "was recorded (create_graph=True)" in text


@pytest.mark.parametrize(("question", "found"), [
    ("why is `a.grad` None after loss.backward()?", ["a.grad", "loss.backward()"]),
    ("after loss.backward() why is a[0].grad None", ["a[0].grad", "loss.backward()"]),
    ("why is this. Not that", []),
    ("model.blocks[0].weight.grad", ["model.blocks[0].weight.grad"]),
    ("`a b c`", []),
])
def test_expressions(question: str, found: list[str]) -> None:
    assert ask.expressions(question) == found


def test_the_command(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(TRAINING + "import sys\nassert sys.argv[1:] == ['--timeout=3', 'b']\nprint('hidden output')\n")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return interpreters.run(["-m", "whygrad", "ask", *arguments], cwd=tmp_path)

    done = call("why is hidden.grad None", "program.py", "--timeout=3", "b")
    assert done.returncode == 0, done.stderr
    assert "[non-leaf-no-retain]" in done.stdout
    assert "hidden output" not in done.stdout
    assert call("why is foo.grad None", "program.py", "--timeout=3", "b").returncode == 1
    script.write_text("import os\nos._exit(3)\n")
    assert "left no report" in call("why", "program.py").stderr


@pytest.mark.parametrize("arguments", [[], ["why"], ["why", "nowhere.py"], ["--nonsense", "why", "x.py"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ask.main(arguments)
    assert ended.value.code == 2
    assert "usage: whygrad ask" in capsys.readouterr().err


FROZEN_AND_UNSTEPPED = """import torch
import torch.nn as nn
model = nn.Linear(2, 1)
model.bias.requires_grad_(False)
opt = torch.optim.SGD([model.weight], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
kept = model(torch.ones(1, 2)).grad
"""


@pytest.mark.parametrize(("question", "words"), [
    ("hello", None), ("why is loss nan", None), ("why is model.bias.grad None", "[frozen]"),
    ("why does the model not learn", "[step-missing]")])
def test_an_answer_fits_the_question_or_there_is_none(question: str, words: str | None) -> None:
    text, found = asked(question, FROZEN_AND_UNSTEPPED)
    assert found is (words is not None)
    assert (words or "Nothing in this program fits") in text


def test_a_change_is_told_once() -> None:
    told, _ = asked("why is y.grad None?", "import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.sum().backward()\n"
                                           "print(y.grad)\n")
    assert told.count("becomes") == 1, told


# Programs of tests/why/programs: questions as people ask them, and the category of the answer ("" if there is none to give).
QUESTIONS: dict[str, list[tuple[str, str]]] = {
    "detach/codebook_tiles": [
        ("why does encoder.0.weight not change", "detach"),
        ("why is model.encoder[0].weight.grad None", "detach"),
        ("the encoder does not learn", "detach"),
        ("Why does the first layer get no gradient?", "detach"),
        ("why does the decoder not train", "ok"),
        ("why is my loss nan", ""),
    ],
    "grad-mode-off/two_tower_shop": [
        ("why is item_emb.weight.grad None?", "grad-mode-off"),
        ("my item tower is never updated", "grad-mode-off"),
        ("is the user tower trained?", "ok"),
    ],
    "value-copied-out/caption_matching": [
        ("why does logit_scale stay the same", "value-copied-out"),
        ("why does the temperature logit_scale never change?", "value-copied-out"),
    ],
    "unused-in-loss/parcel_detector": [
        ("why is box.0.weight.grad None", "unused-in-loss"),
        ("the box head does not learn anything", "unused-in-loss"),
    ],
    "hook-modified/ecg_lstm": [
        ("why are the gradients of the lstm zero", "hook-modified"),
        ("why does lstm.weight_hh_l0 not move", "hook-modified"),
    ],
    "not-in-optimizer/swap_classifier_layer": [
        ("why is fc.weight never updated?", "not-in-optimizer"),
        ("is my optimizer working", "not-in-optimizer"),
        ("why does the last layer not train", "not-in-optimizer"),
    ],
    "zero-local-derivative/rare_event_detector": [
        ("why is the gradient of fc1.weight zero", "zero-local-derivative"),
        ("are my relus dead?", "zero-local-derivative"),
    ],
    "nan-forward/card_game_policy": [
        ("why is my loss nan", "nan-forward"),
        ("loss becomes NaN after the first step, help", "nan-forward"),
        ("where does the first inf come from?", "nan-forward"),
        ("why is body.0.weight nan", "nan-forward"),
    ],
    "nan-derivative/signature_pairs": [
        ("why are my gradients nan", "nan-derivative"),
        ("all weights are nan after one step", "nan-derivative"),
    ],
    "diverged/flat_prices": [
        ("why does my loss explode", "diverged"),
        ("the loss goes up instead of down", "diverged"),
        ("why is the loss inf", "diverged"),
        ("is my learning rate too high?", "diverged"),
    ],
    "exploding-gradient/deep_tanh_regressor": [
        ("why are my gradients exploding", "exploding-gradient"),
        ("why is the gradient norm so huge?", "exploding-gradient"),
    ],
    "vanishing-gradient/tiny_init_cnn": [
        ("why are the gradients vanishing?", "vanishing-gradient"),
        ("why do the first conv layers hardly learn", "vanishing-gradient"),
        ("gradients are tiny", "vanishing-gradient"),
    ],
    "loss-detached/road_segmentation": [
        ("one loss term has no effect", "loss-detached"),
    ],
    "loss-unused/inception_aux": [
        ("why does the aux head not learn", "unused-in-loss"),
    ],
    "learning-rate-zero/house_prices": [
        ("why do my weights not change", "learning-rate-zero"),
        ("why is the loss stuck", "learning-rate-zero"),
        ("is the scheduler ok?", "learning-rate-zero"),
        ("why is the training loss constant", "learning-rate-zero"),
        ("why does net.0.weight stay at its initial value", "learning-rate-zero"),
    ],
    "update-too-small/sine_fit": [
        ("why does my loss not go down?", "update-too-small"),
        ("nothing changes during training", "update-too-small"),
    ],
    "clip-too-tight/sentiment_gru": [
        ("why does it learn so slowly", "clip-too-tight"),
        ("is my gradient clipping right", "clip-too-tight"),
        ("loss is not decreasing", "clip-too-tight"),
    ],
    "weights-reset/ecg_checkpointed_training": [
        ("why does the model forget everything", "weights-reset"),
        ("weights jump back every epoch", "weights-reset"),
        ("why doesn't the model improve?", "weights-reset"),
    ],
    "optimizer-recreated/quadrant_conv": [
        ("is my optimizer working?", "optimizer-recreated"),
        ("momentum seems to have no effect", "optimizer-recreated"),
    ],
    "data-constant/heat_rod_surrogate": [
        ("why does it not generalize", "data-constant"),
        ("does my model see all the data?", "data-constant"),
    ],
    "input-degenerate/traffic_sign_images": [
        ("why is accuracy at chance", "input-degenerate"),
        ("are the inputs ok", "input-degenerate"),
    ],
    "target-constant/click_rating_classes": [
        ("the model always predicts the same class", "target-constant"),
        ("why is the loss 0?", "target-constant"),
    ],
    "target-equals-input/loan_default_table": [
        ("accuracy is suspiciously perfect", "target-equals-input"),
        ("why is validation worse than training", "target-equals-input"),
    ],
    "class-never-seen/flower_species": [
        ("why is test accuracy so bad", "class-never-seen"),
        ("why are some classes never predicted", "class-never-seen"),
    ],
    "output-constant/point_cloud_sets": [
        ("why is the output the same for every input", "output-constant"),
        ("why do all predictions look identical", "output-constant"),
    ],
    "dropout-all/news_bag_of_words": [
        ("why does the network not learn anything", "dropout-all"),
        ("is dropout ok?", "dropout-all"),
    ],
    "term-without-influence/shapes_vae": [
        ("why does the kl term have no effect", "term-without-influence"),
        ("posterior: kl loss ignored?", "term-without-influence"),
    ],
    "graph-kept/loss_history_tracker": [
        ("why does memory grow", "graph-kept"),
        ("I run out of RAM after some epochs", "graph-kept"),
        ("every epoch gets slower", "graph-kept"),
        ("is there a memory leak?", "graph-kept"),
    ],
    "train-in-validation/tabular_batchnorm": [
        ("why is validation worse", "train-in-validation"),
        ("my val loss is noisy", "train-in-validation"),
        ("why are the eval results different every time", "train-in-validation"),
    ],
    "eval-not-undone/pattern_cnn": [
        ("why does it overfit", "eval-not-undone"),
        ("is batchnorm in the right mode", "eval-not-undone"),
    ],
    "softmax-before-loss/flower_mlp": [
        ("why does the loss plateau", "softmax-before-loss"),
        ("why is learning so slow?", "softmax-before-loss"),
        ("are my logits right for cross entropy", "softmax-before-loss"),
    ],
    "broadcast-loss/house_prices": [
        ("why is my mse so bad", "broadcast-loss"),
        ("is there a shape problem", "broadcast-loss"),
        ("why does my regression predict the mean", "broadcast-loss"),
    ],
    "grad-accumulated/sensor_regression": [
        ("why do my gradients grow", "grad-accumulated"),
        ("is zero_grad called correctly", "grad-accumulated"),
        ("why is training unstable", "grad-accumulated"),
    ],
    "grad-cleared/spam_lstm": [
        ("why does my LSTM not learn?", "grad-cleared"),
        ("optimizer.step() does nothing", "grad-cleared"),
    ],
    "step-missing/autoencoder_denoise": [
        ("why do the weights never change", "step-missing"),
        ("loss stays constant", "step-missing"),
        ("why is the model untrained", "step-missing"),
    ],
    "init-symmetric/credit_scoring": [
        ("why are all hidden units the same", "init-symmetric"),
        ("is my initialisation ok", "init-symmetric"),
    ],
    "scheduler-per-batch/leaf_classifier": [
        ("why does the lr drop to zero", "scheduler-per-batch"),
        ("learning stops after a few batches", "scheduler-per-batch"),
    ],
    "frozen-decayed/pretrained_embeddings": [
        ("why do my frozen embeddings change", "frozen-decayed"),
        ("embed.weight changes although it is frozen", "frozen-decayed"),
    ],
    "module-repeated/residual_mlp": [
        ("why do all blocks share the same weights", "module-repeated"),
    ],
    "weights-untied/transposed_autoencoder": [
        ("are the weights tied?", "weights-untied"),
    ],
    "scaler-misuse/amp_direct_step": [
        ("why does mixed precision training blow up", "scaler-misuse"),
    ],
    "accumulation-undivided/chunked_cnn": [
        ("is gradient accumulation correct", "accumulation-undivided"),
        ("why are my gradients too large", "accumulation-undivided"),
    ],
    "second-derivative-zero/smooth_surface": [
        ("why is my second derivative zero", "second-derivative-zero"),
        ("why does the curvature penalty do nothing", "second-derivative-zero"),
    ],
    "masked-all/attention_pool_text": [
        ("is my attention mask right", "masked-all"),
        ("what is the problem here?", "masked-all"),
    ],
    "saturated/income_from_census": [
        ("why is the gradient of the first layer zero", "saturated"),
        ("is something saturated", "saturated"),
    ],
    "clip-misplaced/char_rnn": [
        ("does gradient clipping work", "clip-misplaced"),
    ],
    "wrong-loss-input/pixel_rows_gru": [
        ("is my loss function right?", "wrong-loss-input"),
        ("why is the nll loss negative", "wrong-loss-input"),
    ],
    "batchnorm-single/online_brightness": [
        ("why does batch norm break my model", "batchnorm-single"),
    ],
    "parameter-rewrapped/standardized_conv": [
        ("why does c1.weight not get a gradient", "parameter-rewrapped"),
    ],
    "non-differentiable-op/moe_router": [
        ("why does the router not learn", "non-differentiable-op"),
        ("why is router.weight.grad None", "non-differentiable-op"),
    ],
    "detach/date_seq2seq": [
        ("Why is encoder.weight_ih_l0 not being trained?", "detach"),
        ("my embeddings src_emb don't update, only the decoder", "detach"),
        ("grads of the GRU encoder are None, what happened", "detach"),
    ],
    "grad-mode-off/frame_finetuning": [
        ("how come the conv is never fine-tuned", "grad-mode-off"),
        ("encoder.conv.weight.grad returns None", "grad-mode-off"),
    ],
    "hook-modified/finetune_scaled_backbone": [
        ("backbone gradients are all zeros", "hook-modified"),
        ("Why is the backbone stuck?", "hook-modified"),
    ],
    "nan-derivative/srgb_decoder": [
        ("loss = nan, why?", "nan-derivative"),
        ("why do conv1 weights turn into nan", "nan-derivative"),
    ],
    "diverged/warmup_transformer": [
        ("training diverges after a few steps", "diverged"),
        ("why is my loss increasing", "diverged"),
    ],
    "update-too-small/spectra_autoencoder": [
        ("reconstruction doesn't get any better", "update-too-small"),
        ("encoder.0.weight looks the same before and after training", "update-too-small"),
    ],
    "target-equals-input/denoise_signals": [
        ("loss goes to zero immediately, too good to be true", "target-equals-input"),
    ],
    "class-ignored/road_segmentation": [
        ("class 0 is never predicted", "class-ignored"),
        ("why is IoU of background 0", "class-ignored"),
    ],
    "dropout-all/engine_fault_lstm": [
        ("all outputs are identical", "dropout-all"),
        ("why is accuracy stuck at 50%", "dropout-all"),
    ],
    "eval-not-undone/name_generator": [
        ("is dropout active during training?", "eval-not-undone"),
        ("train/eval mode issue?", "eval-not-undone"),
    ],
    "train-in-validation/vibration_monitor": [
        ("validation loss differs each time I run it", "train-in-validation"),
        ("test accuracy much lower than train accuracy", "train-in-validation"),
    ],
    "broadcast-loss/gridworld_dqn": [
        ("Q values don't converge", "broadcast-loss"),
        ("UserWarning about target size", "broadcast-loss"),
    ],
    "grad-accumulated/epoch_level_reset": [
        ("gradient norm increases every step", "grad-accumulated"),
        ("do I clear the gradients properly?", "grad-accumulated"),
    ],
    "grad-cleared/contrastive_pairs": [
        ("opt.step() has no effect", "grad-cleared"),
        ("model parameters identical after training", "grad-cleared"),
    ],
    "step-missing/matrix_factorization": [
        ("RMSE never improves", "step-missing"),
        ("embeddings keep their initial values", "step-missing"),
    ],
    "softmax-before-loss/pos_tagger": [
        ("loss won't go below 1.5", "softmax-before-loss"),
        ("should I use softmax here?", "softmax-before-loss"),
    ],
    "sigmoid-before-logits/churn_model": [
        ("bce loss is stuck at 0.69", "sigmoid-before-logits"),
        ("is BCEWithLogitsLoss used correctly", "sigmoid-before-logits"),
    ],
    "scheduler-before-optimizer/epoch_decay_mlp": [
        ("am I calling scheduler.step() at the right place", "scheduler-before-optimizer"),
    ],
    "second-derivative-zero/heat_rod_pinn": [
        ("u_xx is zero everywhere", "second-derivative-zero"),
        ("PINN does not learn the pde", "second-derivative-zero"),
    ],
    "weights-reset/cartpole_q_learning": [
        ("agent unlearns everything", "weights-reset"),
        ("why do the weights go back to old values", "weights-reset"),
    ],
    "optimizer-state-lost/movie_factorization": [
        ("adam state looks empty", "optimizer-state-lost"),
    ],
    "clip-too-tight/sorting_transformer": [
        ("training is extremely slow", "clip-too-tight"),
        ("is max_norm ok?", "clip-too-tight"),
    ],
    "learning-rate-zero/gesture_rnn": [
        ("what happens to my lr", "learning-rate-zero"),
        ("no progress after epoch 1", "learning-rate-zero"),
    ],
    "init-symmetric/zero_start_mlp": [
        ("hidden neurons all learn the same thing", "init-symmetric"),
    ],
    "zero-factor/rgb_depth_multitask": [
        ("depth branch has zero gradient", "zero-factor"),
        ("why does depth.0.weight not learn", "zero-factor"),
    ],
}

PLAIN_TENSORS = """import torch
def main():
    torch.manual_seed(0)
    w = torch.zeros(2, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    x = torch.randn(8, 2)
    y = x @ torch.tensor([1., 2.]) + 3
    for _ in range(10):
        hidden = x @ w
        pred = hidden.detach() + b
        loss = ((pred - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            b -= 0.1 * b.grad
            b.grad.zero_()
main()
"""
IN_ORDER = """import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)
        self.backbone = nn.Linear(4, 4)
        self.backbone.requires_grad_(False)
    def forward(self, x):
        return self.head(self.encoder(self.backbone(x)))
def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(30):
        x = torch.randn(32, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        loss.backward()
        opt.step()
main()
"""
CARRIED_STATE = """import torch
import torch.nn as nn
def main():
    cell, h = nn.Linear(3, 3), torch.zeros(1, 3)
    opt = torch.optim.SGD(cell.parameters(), lr=0.1)
    for _ in range(5):
        h = torch.tanh(cell(h))
        opt.zero_grad()
        h.sum().backward()
        opt.step()
main()
"""
ASSERTED = """import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
    def forward(self, x):
        return self.head(torch.tanh(self.encoder(x)).detach())
def main():
    net = Net()
    net(torch.randn(5, 3)).pow(2).mean().backward()
    for name, p in net.named_parameters():
        assert p.grad is not None, name
main()
"""
ANOMALY = """import torch
def main():
    w = torch.zeros(3, requires_grad=True)
    with torch.autograd.detect_anomaly():
        loss = (w ** 2).sum().sqrt()
        loss.backward()
main()
"""
INLINE: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "plain tensors in main()": (PLAIN_TENSORS, [
        ("why is w.grad None", "detach", "hidden.detach()"),
        ("why does w not change", "detach", "line 10"),
        ("does w learn?", "detach", "line 10"),
        ("why is hidden.grad None?", "non-leaf-no-retain", "hidden.retain_grad()"),
        ("why is b.grad None", "ok", "It is not None here"),
        ("does b change", "ok", "`b` does change"),
    ]),
    "in order": (IN_ORDER, [
        ("why is my loss nan", "", "always finite"),
        ("why does it not learn", "", "4 got gradients, 4 changed"),
        ("why does memory grow", "", "checks"),
        ("is my optimizer working?", "", "30 steps"),
        ("what is wrong here", "", "30 times, first"),
        ("why is foo.weight.grad None", "", "Nothing in this program fits"),
        ("hello", "", "Nothing in this program fits"),
        ("why does head.weight not change", "ok", "`head.weight` does change: "),
        ("why does self.encoder not update?", "ok", "do change"),
        ("why is net.head.bias.grad None", "ok", "It is not None here"),
        ("why is backbone.weight.grad None", "frozen", "line 9"),
        ("why does the backbone not train", "frozen", "line 9"),
    ]),
    "a carried state": (CARRIED_STATE, [
        ("why does backward() fail", "graph-freed", "h.detach()"),
        ("do I need retain_graph=True?", "graph-freed", "no remedy for a carried state"),
        ("why does it crash", "graph-freed", "line 7"),
        ("why do my weights not change", "graph-freed", "line 7"),
    ]),
    "a failing assertion": (ASSERTED, [
        ("why does my assertion fail", "detach", "line 8"),
        ("why is encoder.weight.grad None", "detach", "line 8"),
        ("why does it crash?", "detach", "line 8"),
        ("the assert p.grad is not None fails", "detach", "line 8"),
    ]),
    "anomaly mode": (ANOMALY, [
        ("why does anomaly detection complain", "nan-derivative", "sqrt"),
        ("Function 'PowBackward0' returned nan values in its 0th output", "nan-derivative", "the derivative of sqrt at 0"),
        ("why nan?", "nan-derivative", "sqrt(x + eps)"),
    ]),
}


def ask_about(engine: str, program: Path, questions: list[str]) -> dict[str, Any]:
    done = interpreters.run([str(Path(__file__).parent / "asking.py"), engine, str(program), *questions],
                            kind="both" if engine == "torch" else "whygrad")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def category_in(text: str) -> str:
    found = re.search(r"\[([a-z][a-z-]+)\]", text)
    return "" if found is None else found[1]


@pytest.mark.parametrize("engine", ["whygrad", "torch"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_about_training(name: str, engine: str) -> None:
    program = Path(__file__).parent / "programs" / f"{name}.py"
    # The first line of a program has the categories that an answer may have.
    alike = {category.strip() for category in program.read_text().splitlines()[0].removeprefix("#").partition("|")[0].split(",")}
    told = ask_about(engine, program, [question for question, _ in QUESTIONS[name]])
    assert told["failures"] == []
    for (question, category), reply in zip(QUESTIONS[name], told["replies"], strict=True):
        shown = f"{question}: {reply['text']}"
        assert reply["found"] is bool(category), shown
        if not category:
            assert "What was looked at" in reply["text"], shown
            continue
        given = category_in(reply["text"])
        assert given in (alike | {category} if category in alike else {category}), shown
        if category != "ok":
            # The answer is one of those that `whygrad run` gives, with its lines.
            lines = {int(line) for line in re.findall(r"(?:\.py:|line )(\d+)", reply["text"])}
            assert any(answer["category"] == given and {answer["line"], *answer["causes"]} <= lines
                       for answer in told["run"]), shown


@pytest.mark.parametrize("engine", ["whygrad", "torch"])
@pytest.mark.parametrize("name", INLINE)
def test_questions_about_a_program(name: str, engine: str, tmp_path: Path) -> None:
    program, cases = INLINE[name]
    path = tmp_path / "program.py"
    path.write_text(program)
    told = ask_about(engine, path, [question for question, _, _ in cases])
    assert told["failures"] == []
    for (question, category, words), reply in zip(cases, told["replies"], strict=True):
        shown = f"{question}: {reply['text']}"
        assert reply["found"] is bool(category), shown
        assert category_in(reply["text"]) == category, shown
        assert words in reply["text"], shown


# Training in functions; nobody reads a gradient but the assertion.
IN_FUNCTIONS = {
    "encoder": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 3)
    def forward(self, x):
        with torch.no_grad():
            z = self.encoder(x)
        return self.head(z)
def main():
    model, history = Model(), []
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(24):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 6)), torch.randint(0, 3, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss)
main()
""",
    "nan": """
def train():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(10):
        loss = torch.log(net(torch.rand(16, 4)) - 0.2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
train()
""",
    "assert": """
def check(model):
    for name, p in model.named_parameters():
        assert p.grad is not None, name
def main():
    model = nn.ModuleDict({"enc": nn.Linear(4, 8), "dec": nn.Linear(8, 4)})
    x = torch.randn(16, 4)
    code = torch.tensor(model["enc"](x).tolist())
    (model["dec"](code) - x).pow(2).mean().backward()
    check(model)
main()
""",
    "gan": """
def mlp(n, m):
    return nn.Sequential(nn.Linear(n, 16), nn.LeakyReLU(0.2), nn.Linear(16, m))
def main():
    bce = nn.BCEWithLogitsLoss()
    generator, critic = mlp(2, 2), mlp(2, 1)
    opt_g, opt_d = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    for _ in range(16):
        fake = generator(torch.randn(32, 2)).detach()
        opt_d.zero_grad()
        (bce(critic(torch.randn(32, 2) + 1), torch.ones(32, 1)) + bce(critic(fake), torch.zeros(32, 1))).backward()
        opt_d.step()
        opt_g.zero_grad()
        bce(critic(fake), torch.ones(32, 1)).backward()
        opt_g.step()
main()
"""}


@pytest.mark.parametrize(("program", "question", "words"), [
    ("encoder", "why does it not learn", ["[grad-mode-off]", "concerns 2 parameters: `encoder.0.weight`"]),
    ("encoder", "why do my weights not change", ["[grad-mode-off]"]),
    ("encoder", "why does memory grow", ["[graph-kept]", "memory grows"]),
    ("encoder", "why does encoder.0.weight not change", ["[grad-mode-off]"]),
    ("encoder", "why is the encoder not training", ["[grad-mode-off]"]),
    ("encoder", "is head.weight trained?", ["Nothing is wrong with it", "`head.weight` does change", "Also found"]),
    ("encoder", "why is my accuracy at chance", ["[grad-mode-off]"]),
    ("encoder", "why does the loss not go down", ["[grad-mode-off]"]),
    ("nan", "why is my loss nan", ["[nan-forward]", "torch.log("]),
    ("nan", "where does the nan come from", ["[nan-forward]"]),
    ("nan", "why are my weights nan", ["[nan-forward]"]),
    ("assert", "why does the assert fail", ["[value-copied-out]", "tolist()"]),
    ("assert", "AssertionError: enc.weight", ["[value-copied-out]"]),
    ("gan", "why does the generator not learn", ["[detach]", "`generator.0.weight`"]),
    ("gan", "why does generator.2.bias not change", ["[detach]"]),
    ("gan", "is the critic ok", ["Nothing is wrong with them", "`critic.0.weight`"]),
])
def test_programs_that_train_in_functions(program: str, question: str, words: list[str]) -> None:
    text, found = asked(question, "import torch\nimport torch.nn as nn\n" + IN_FUNCTIONS[program])
    assert found
    assert not [word for word in words if word not in text], text


def test_a_program_that_does_not_end_is_answered_from_what_was_seen(tmp_path: Path) -> None:
    endless = IN_FUNCTIONS["nan"].replace("range(10)", "iter(int, 1)")
    (tmp_path / "p.py").write_text("import torch\nimport torch.nn as nn\n" + endless)
    done = subprocess.run([sys.executable, "-m", "whygrad", "ask", "--timeout=6", "why is my loss nan", "p.py"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "did not end within 6 seconds; this is what was seen until then" in done.stderr
    assert "[nan-forward]" in done.stdout
