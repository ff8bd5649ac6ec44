"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.base.autocast_state import state as autocast
from whygrad.base.errors import warn
from whygrad.core.tensor import wrap
from whygrad.functional.parameter import Parameter
from whygrad.nn import init
from whygrad.nn.from_function import unusual
from whygrad.nn.functional import recurrent
from whygrad.nn.module import Module, parameter_of
from whygrad.nn.utils.rnn import PackedSequence

# mode -> number of gates
MODES = {cell.upper(): gates for cell, gates in recurrent.GATES.items()}


def _reset(module: Module, hidden_size: int) -> None:
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _zeros_like(input: Any, size: tuple[int, ...]) -> Any:
    return input.new_zeros(size) if input.is_meta else wrap(np.zeros(size, input._array.dtype))


class RNNBase(Module):
    """Base of RNN, LSTM and GRU: parameters, checks and the forward pass."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = MODES[mode] * hidden_size
        output_size = proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            layer_size = input_size if layer == 0 else output_size * directions
            shapes: dict[str, Any] = {"weight_ih": (gates, layer_size), "weight_hh": (gates, output_size)}
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def __getstate__(self) -> dict[str, Any]:
        """Adds `_flat_weights`, which torch's unpickled layers need."""
        return {**self.__dict__, "_flat_weights": [getattr(self, name) for name in self._flat_weights_names]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                             "zeroed")
        if dropout and self.num_layers == 1:
            warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                 f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}")
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in MODES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _flat_weights(self) -> list[Any]:
        return [parameter_of(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do: only cuDNN needs contiguous weights."""

    def reset_parameters(self) -> None:
        _reset(self, self.hidden_size)

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        wanted = parameter_of(self, self._flat_weights_names[0]).dtype
        if input.dtype != wanted and "cpu" not in autocast.enabled:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). Convert input: "
                             f"input.to({wanted}), or convert model: model.to({input.dtype})")
        dims = 3 if batch_sizes is None else 2
        shape = input._array.shape
        if len(shape) != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {len(shape)}")
        if self.input_size != shape[-1]:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {shape[-1]}")

    def _expected_size(self, input: Any, batch_sizes: Any, width: int) -> tuple[int, int, int]:
        batch = input._array.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Any, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        if hx._array.shape != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def _zeros(self, input: Any, batch_sizes: Any) -> Any:
        """The initial state if none is given."""
        return _zeros_like(input, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        return hx if permutation is None else hx.index_select(1, permutation)

    def _batched(self, hx: Any, batched: bool) -> Any:
        """The given state, its rank checked, with a batch dim added if the input is unbatched."""
        dims, kind = (3, "batched") if batched else (2, "unbatched")
        if hx.dim() != dims:
            raise RuntimeError(f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.dim()}-D tensor")
        return hx if batched else hx.unsqueeze(1)

    def _run(self, input: Any, batch_sizes: Any, hx: Any) -> tuple[Any, Any]:
        """(output, last state) of a batched or packed input."""
        function = getattr(torch._VF, self.mode.lower())
        if batch_sizes is None:
            result = function(input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                              self.bidirectional, self.batch_first)
        else:
            result = function(input, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout,
                              self.training, self.bidirectional)
        return result[0], result[1:] if self.mode == "LSTM" else result[1]

    def _forward(self, input: Any, hx: Any) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._zeros(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
            if self.mode != "LSTM":
                self.check_forward_args(data, state, batch_sizes)
            output, last = self._run(data, batch_sizes, state)
            return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(last, back)
        dims = input.dim()
        if dims not in (2, 3):
            noun = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self.mode.partition('_')[0]}: Expected input to be 2D or 3D, got {dims}D{noun} instead")
        batched = dims == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        state = self._zeros(input, None) if hx is None else self._batched(hx, batched)
        self.check_forward_args(input, state, None)
        output, last = self._run(input, None, state)
        if batched:
            return output, last
        return output.squeeze(batch_dim), tuple([t.squeeze(1) for t in last]) if self.mode == "LSTM" else last.squeeze(1)

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return ", ".join([str(self.input_size), str(self.hidden_size), *unusual(self, usual)])


def _refuse_projection(arguments: dict[str, Any]) -> None:
    if "proj_size" in arguments:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of h' = tanh(linear(x) + linear(h)), or relu.

    `RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)`
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._forward(input, hx)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    `GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None)`
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._forward(input, hx)


class LSTM(RNNBase):
    """Layers with a long short-term memory. The state is a pair (h, c).

    `LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None)`
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def _zeros(self, input: Any, batch_sizes: Any) -> Any:
        return super()._zeros(input, batch_sizes), _zeros_like(input, self.get_expected_cell_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        return hx if permutation is None else tuple([super(LSTM, self).permute_hidden(t, permutation) for t in hx])

    def _batched(self, hx: Any, batched: bool) -> Any:
        dims, kind = (3, "batched") if batched else (2, "unbatched")
        h, c = hx[0], hx[1]
        if h.dim() != dims or c.dim() != dims:
            raise RuntimeError(f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({h.dim()}-D, "
                               f"{c.dim()}-D) tensors")
        return hx if batched else (h.unsqueeze(1), c.unsqueeze(1))

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._forward(input, hx)


class RNNCellBase(Module):
    """Base of the cells. A cell computes one time step."""

    bias_ih: Any
    bias_hh: Any

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(torch.empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _reset(self, self.hidden_size)

    def _check_dims(self, name: str, value: Any) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {value.dim()}D instead")

    def _zeros(self, input: Any) -> Any:
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype)

    def _step(self, function: str, input: Any, hx: Any) -> Any:
        """One time step of a cell with one state."""
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        if input.dim() == 1:
            return self._step(function, input.unsqueeze(0), None if hx is None else hx.unsqueeze(0)).squeeze(0)
        hx = self._zeros(input) if hx is None else hx
        return getattr(torch._VF, function)(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """h' = tanh(linear(x) + linear(h)), or relu."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, hx)


class GRUCell(RNNCellBase):
    """A gated recurrent unit."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step("gru_cell", input, hx)


class LSTMCell(RNNCellBase):
    """A long short-term memory. The state is a pair (h, c)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        self._check_dims("input", input)
        for i, state in enumerate(hx or ()):
            self._check_dims(f"hx[{i}]", state)
        if input.dim() == 1:
            h, c = self.forward(input.unsqueeze(0), hx and tuple([t.unsqueeze(0) for t in hx]))
            return h.squeeze(0), c.squeeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        return torch._VF.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
