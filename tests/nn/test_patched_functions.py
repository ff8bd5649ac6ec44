"""A program that patches functions of torch.nn.functional, torch.nn.init or torch._VF sees the calls that torch's modules make.

Each text runs on torch and on whygrad with every function replaced by a recorder; the same functions must be called, in the
same order, with as many positional arguments and the same keywords.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import whygrad
import whygrad.nn

Call = tuple[str, int, tuple[str, ...]]

LINES = """
nn.ReLU()(x)
nn.ReLU(inplace=True)(x.clone())
nn.ReLU6()(x)
nn.ELU(0.5)(x)
nn.CELU()(x)
nn.SELU()(x)
nn.SiLU()(x)
nn.Mish()(x)
nn.LeakyReLU(0.1)(x)
nn.Threshold(0.1, 2.0)(x)
nn.RReLU()(x)
nn.PReLU()(x)
nn.GLU()(x)
nn.GELU()(x)
nn.Softplus()(x)
nn.Softmax(dim=1)(x)
nn.Softmax2d()(image)
nn.Softmin(dim=1)(x)
nn.LogSoftmax(dim=1)(x)
nn.Sigmoid()(x)
nn.Tanh()(x)
nn.LogSigmoid()(x)
nn.Softsign()(x)
nn.Tanhshrink()(x)
nn.Hardshrink()(x)
nn.Softshrink()(x)
nn.Hardsigmoid()(x)
nn.Hardswish()(x)
nn.Hardtanh()(x)
nn.Linear(6, 3)(x)
nn.LazyLinear(3)(x)
nn.Bilinear(6, 6, 2)(x, x)
nn.Identity()(x)
nn.Flatten()(image)
nn.Unflatten(1, (2, 3))(x)
nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Dropout(0.1))(x)
nn.ModuleList([nn.Linear(6, 6)])[0](x)
nn.ModuleDict({"a": nn.ReLU()})["a"](x)
nn.ParameterList([x])[0]
nn.ParameterDict({"a": x})["a"]
nn.DataParallel(nn.Linear(6, 6))(x)
nn.Conv1d(4, 2, 3)(line)
nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular")(image)
nn.Conv2d(4, 2, 3, bias=False)(image)
nn.Conv3d(4, 2, 2)(volume)
nn.ConvTranspose1d(4, 2, 3)(line)
nn.ConvTranspose2d(4, 2, 3)(image)
nn.ConvTranspose3d(4, 2, 2)(volume)
nn.LazyConv1d(2, 3)(line)
nn.LazyConv2d(2, 3)(image)
nn.LazyConv3d(2, 2)(volume)
nn.LazyConvTranspose1d(2, 3)(line)
nn.LazyConvTranspose2d(2, 3)(image)
nn.LazyConvTranspose3d(2, 2)(volume)
nn.MaxPool1d(2)(line)
nn.MaxPool2d(2)(image)
nn.MaxPool2d(2, return_indices=True)(image)
nn.MaxPool3d(2)(volume)
nn.AvgPool1d(2)(line)
nn.AvgPool2d(2)(image)
nn.AvgPool3d(2)(volume)
nn.LPPool1d(2, 2)(line)
nn.LPPool1d(2, 2, stride=1)(line)
nn.LPPool2d(2, 2)(image)
nn.LPPool3d(2, 2)(volume)
nn.LPPool2d(float("inf"), 2)(image)
nn.AdaptiveAvgPool1d(2)(line)
nn.AdaptiveAvgPool2d(2)(image)
nn.AdaptiveAvgPool3d(2)(volume)
nn.AdaptiveMaxPool1d(2)(line)
nn.AdaptiveMaxPool2d(2)(image)
nn.AdaptiveMaxPool2d(2, return_indices=True)(image)
nn.AdaptiveMaxPool3d(2)(volume)
nn.FractionalMaxPool2d(2, output_size=3)(image)
nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)(image)
nn.FractionalMaxPool3d(2, output_ratio=0.5)(volume)
nn.MaxUnpool1d(2)(*F.max_pool1d(line, 2, return_indices=True))
nn.MaxUnpool2d(2)(*F.max_pool2d(image, 2, return_indices=True))
nn.MaxUnpool3d(2)(*F.max_pool3d(volume, 2, return_indices=True))
nn.ConstantPad1d(1, 2.0)(line)
nn.ConstantPad2d(1, 2.0)(image)
nn.ConstantPad3d(1, 2.0)(volume)
nn.ZeroPad1d(1)(line)
nn.ZeroPad2d(1)(image)
nn.ZeroPad3d(1)(volume)
nn.ReflectionPad1d(1)(line)
nn.ReflectionPad2d(1)(image)
nn.ReflectionPad3d(1)(volume)
nn.ReplicationPad1d(1)(line)
nn.ReplicationPad2d(1)(image)
nn.ReplicationPad3d(1)(volume)
nn.CircularPad1d(1)(line)
nn.CircularPad2d(1)(image)
nn.CircularPad3d(1)(volume)
nn.BatchNorm1d(6)(x)
nn.BatchNorm2d(4)(image)
nn.BatchNorm3d(4)(volume)
nn.BatchNorm2d(4).eval()(image)
nn.SyncBatchNorm(4).eval()(image)
nn.LazyBatchNorm1d()(x)
nn.LazyBatchNorm2d()(image)
nn.LazyBatchNorm3d()(volume)
nn.InstanceNorm1d(4)(line)
nn.InstanceNorm2d(4, affine=True)(image)
nn.InstanceNorm2d(4)(image[0])
nn.InstanceNorm3d(4)(volume)
nn.LazyInstanceNorm1d()(line)
nn.LazyInstanceNorm2d()(image)
nn.LazyInstanceNorm3d()(volume)
nn.GroupNorm(2, 4)(image)
nn.LayerNorm(6)(x)
nn.RMSNorm(6)(x)
nn.LocalResponseNorm(2)(image)
nn.LocalResponseNorm(2)(line)
nn.CrossMapLRN2d(2)(image)
nn.Dropout()(x)
nn.Dropout().eval()(x)
nn.Dropout1d()(line)
nn.Dropout2d()(image)
nn.Dropout3d()(volume)
nn.AlphaDropout()(x)
nn.FeatureAlphaDropout()(image)
nn.Embedding(5, 3)(index)
nn.EmbeddingBag(5, 3)(index)
nn.Fold((8, 8), 2, stride=2)(columns)
nn.Unfold(2)(image)
nn.PixelShuffle(2)(image)
nn.PixelUnshuffle(2)(image)
nn.ChannelShuffle(2)(image)
nn.Upsample(scale_factor=2)(image)
nn.Upsample(size=4, mode="area")(image)
nn.UpsamplingNearest2d(scale_factor=2)(image)
nn.UpsamplingBilinear2d(scale_factor=2)(image)
nn.CosineSimilarity()(x, y)
nn.PairwiseDistance()(x, y)
nn.L1Loss()(x, y)
nn.MSELoss()(x, y)
nn.SmoothL1Loss()(x, y)
nn.HuberLoss()(x, y)
nn.NLLLoss()(x, labels)
nn.CrossEntropyLoss()(x, labels)
nn.BCELoss()(x.sigmoid(), y.sigmoid())
nn.BCEWithLogitsLoss()(x, y.sigmoid())
nn.KLDivLoss(reduction="sum")(x, y.sigmoid())
nn.CTCLoss()(x.reshape(4, 2, 3), labels[:2].clamp(1, 2), torch.tensor([4, 4]), torch.tensor([1, 1]))
nn.PoissonNLLLoss()(x, y.exp())
nn.GaussianNLLLoss()(x, y, y.exp())
nn.HingeEmbeddingLoss()(x, y.sign())
nn.MarginRankingLoss()(x, y, x.sign())
nn.SoftMarginLoss()(x, y.sign())
nn.MultiLabelMarginLoss()(x, labels[:, None].expand(4, 6))
nn.MultiLabelSoftMarginLoss()(x, y.sigmoid())
nn.MultiMarginLoss()(x, labels)
nn.CosineEmbeddingLoss()(x, y, labels.sign() * 2 - 1)
nn.TripletMarginLoss()(x, y, x + 1)
nn.TripletMarginWithDistanceLoss()(x, y, x + 1)
nn.LinearCrossEntropyLoss(6, 5)(x, labels)
nn.LinearCrossEntropyLoss(6, 5, options=nn.LinearCrossEntropyOptions())(x, labels)
nn.AdaptiveLogSoftmaxWithLoss(6, 5, [2])(x, labels)
nn.RNN(6, 3)(sequence)
nn.RNN(6, 3, nonlinearity="relu", batch_first=True)(sequence)
nn.GRU(6, 3, 2)(sequence)
nn.LSTM(6, 3, bidirectional=True)(sequence)
nn.LSTM(6, 3)(nn.utils.rnn.pack_padded_sequence(sequence, torch.tensor([2, 1])))
nn.GRU(6, 3)(nn.utils.rnn.pack_padded_sequence(sequence, torch.tensor([2, 1])))
nn.LSTM(6, 3)(sequence, (torch.zeros(1, 2, 3), torch.ones(1, 2, 3)))
nn.RNNCell(6, 3)(x)
nn.GRUCell(6, 3)(x[0])
nn.LSTMCell(6, 3)(x)
nn.MultiheadAttention(6, 2)(sequence, sequence, sequence)
nn.MultiheadAttention(6, 2, dropout=0.1)(sequence, sequence, sequence)
nn.MultiheadAttention(6, 2, kdim=6, vdim=4, add_bias_kv=True)(sequence, sequence, sequence[..., :4])
nn.MultiheadAttention(6, 2, batch_first=True)(sequence, sequence + 1, sequence + 1, need_weights=False)
nn.MultiheadAttention(6, 2, add_zero_attn=True)(sequence, sequence, sequence, attn_mask=torch.zeros(2, 2))
nn.TransformerEncoderLayer(6, 2, 8)(sequence)
nn.TransformerEncoderLayer(6, 2, 8, activation="gelu", norm_first=True)(sequence)
nn.TransformerDecoderLayer(6, 2, 8)(sequence, sequence)
nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8), 2, nn.LayerNorm(6))(sequence)
nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8), 2)(sequence, sequence)
nn.Transformer(6, 2, 1, 1, 8)(sequence, sequence)
nn.utils.parametrizations.spectral_norm(nn.Linear(6, 3))(x)
nn.utils.parametrizations.weight_norm(nn.Linear(6, 3))(x)
nn.utils.parametrizations.orthogonal(nn.Linear(6, 6))(x)
nn.utils.weight_norm(nn.Conv1d(4, 2, 3))(line)
F.interpolate(image, size=3, mode="area")
F.upsample(image, scale_factor=2)
F.upsample_nearest(image, scale_factor=2)
F.upsample_bilinear(image, scale_factor=2)
F.gumbel_softmax(x)
F.multilabel_soft_margin_loss(x, y.sigmoid())
F.triplet_margin_with_distance_loss(x, y, x + 1)
F.local_response_norm(volume, 2)
F.normalize(x)
""".strip().splitlines()

# Abstract, or never called.
WITHOUT_FORWARD = {"Module", "RNNBase", "RNNCellBase"}


def tensors(lib: Any) -> dict[str, Any]:
    def ramp(*shape: int) -> Any:
        size = 1
        for n in shape:
            size *= n
        return (lib.arange(size, dtype=lib.float32).reshape(shape) * 0.7).sin()

    return {"x": ramp(4, 6), "y": ramp(4, 6).cos(), "line": ramp(2, 4, 8), "image": ramp(2, 4, 8, 8),
            "volume": ramp(2, 4, 4, 4, 4), "columns": ramp(2, 16, 16), "sequence": ramp(2, 2, 6),
            "index": lib.tensor([[0, 4, 1], [2, 2, 0]]),
            "labels": lib.tensor([0, 4, 1, 3])}


def functions_of(module: Any) -> list[str]:
    """The public functions that torch's module of this name has, and ours."""
    theirs = {"nn.functional": torch.nn.functional, "nn.init": torch.nn.init}[module]
    ours = {"nn.functional": whygrad.nn.functional, "nn.init": whygrad.nn.init}[module]
    return [name for name, value in vars(ours).items()
            if callable(value) and not isinstance(value, type) and not name.startswith("_") and name in vars(theirs)]


PATCHED = [*[("nn.functional", name) for name in functions_of("nn.functional")],
           *[("nn.init", name) for name in functions_of("nn.init")],
           *[("_VF", name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell",
                                        "rnn_relu_cell")],
           ("", "sigmoid"), ("", "tanh")]


@contextmanager
def recording(lib: Any) -> Iterator[list[Call]]:
    calls: list[Call] = []
    originals: list[tuple[Any, str, Any]] = []

    def recorder(label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any, **kwargs: Any) -> Any:
            # Of torch's own functions those count that a module calls.
            if "." in label or sys._getframe(1).f_globals["__name__"].endswith(".activation"):
                calls.append((label, len(args), tuple(sorted(kwargs))))
            return function(*args, **kwargs)

        return record

    for home, name in PATCHED:
        module = lib
        for part in home.split(".") if home else ():
            module = getattr(module, part)
        originals.append((module, name, getattr(module, name)))
        setattr(module, name, recorder(f"{home}.{name}" if home else name, getattr(module, name)))
    try:
        yield calls
    finally:
        for module, name, function in originals:
            setattr(module, name, function)


def calls_of(text: str, lib: Any) -> list[Call]:
    scope = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, **tensors(lib)}
    lib.manual_seed(0)
    with warnings.catch_warnings(), recording(lib) as calls:
        warnings.simplefilter("ignore")
        eval(text, scope)
    return calls


@pytest.mark.parametrize("text", LINES)
def test_the_same_functions_are_called(text: str) -> None:
    assert calls_of(text, whygrad) == calls_of(text, torch)


def test_every_module_has_a_line() -> None:
    named = set(re.findall(r"nn\.(\w+)\(", "\n".join(LINES)))
    modules = {name for name, value in vars(whygrad.nn).items()
               if isinstance(value, type) and issubclass(value, whygrad.nn.Module)}
    assert modules - WITHOUT_FORWARD - named == set()


def test_a_patched_function_decides_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x = whygrad.ones(2, 3)
    for name, module in (("relu", whygrad.nn.ReLU()), ("linear", whygrad.nn.Linear(3, 3)), ("dropout", whygrad.nn.Dropout())):
        monkeypatch.setattr(whygrad.nn.functional, name, lambda *args, **kwargs: name)
        assert module(x) == name
