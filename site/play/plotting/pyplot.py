"""The functions of matplotlib.pyplot that small programs use, drawn as SVG. What is not here raises NotImplementedError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from play.plotting import chart

# Where a finished figure goes: set for each run.
deliver: Callable[[str], Any] = str

rcParams: dict[str, Any] = {}
_figure: Figure | None = None


class Axes:
    """One chart."""

    def __init__(self) -> None:
        self.chart = chart.Chart()

    def plot(self, *args: Any, label: str = "", color: str = "", c: str = "", **more: Any) -> list[Any]:
        formats = [a for a in args if isinstance(a, str)]
        values = [_numbers(a) for a in args if not isinstance(a, str)]
        x, y = values if len(values) == 2 else (np.arange(len(values[0])), values[0])
        columns = y.T if y.ndim == 2 else [y]
        style = formats[0] if formats else more.get("linestyle", more.get("ls", "-"))
        kind = "points" if style and style[-1] in "o.x*+s" and "-" not in style else "line"
        for column in columns:
            self.chart.add(kind, x, column, label, color or c, dashed="--" in style or ":" in style)
        return []

    def scatter(self, x: Any, y: Any, s: Any = None, c: Any = None, label: str = "", **more: Any) -> None:
        self.chart.add("points", _numbers(x), _numbers(y), label, c if isinstance(c, str) else more.get("color", ""))

    def bar(self, x: Any, height: Any, width: float = 0.8, label: str = "", color: str = "", **more: Any) -> None:
        names = [str(name) for name in x] if len(x) and isinstance(x[0], str) else None
        places = np.arange(len(x)) if names else _numbers(x)
        self.chart.add("bars", places, _numbers(height), label, color, names=names, width=width)

    def hist(self, x: Any, bins: Any = 10, label: str = "", color: str = "", **more: Any) -> tuple[Any, Any, list[Any]]:
        counts, edges = np.histogram(_numbers(x).reshape(-1), bins)
        self.chart.add("bars", (edges[1:] + edges[:-1]) / 2, counts, label, color, width=float(edges[1] - edges[0]))
        return counts, edges, []

    def imshow(self, image: Any, **more: Any) -> None:
        self.chart.image = _numbers(image)

    matshow = imshow

    def axhline(self, y: float = 0, **more: Any) -> None:
        self.chart.rules.append(("h", float(y)))

    def axvline(self, x: float = 0, **more: Any) -> None:
        self.chart.rules.append(("v", float(x)))

    def semilogy(self, *args: Any, **more: Any) -> list[Any]:
        self.set_yscale("log")
        return self.plot(*args, **more)

    def set_title(self, text: str, **more: Any) -> None:
        self.chart.title = text

    def set_xlabel(self, text: str, **more: Any) -> None:
        self.chart.labels[0] = text

    def set_ylabel(self, text: str, **more: Any) -> None:
        self.chart.labels[1] = text

    def set_xscale(self, kind: str, **more: Any) -> None:
        self.chart.log[0] = kind in ("log", "symlog")

    def set_yscale(self, kind: str, **more: Any) -> None:
        self.chart.log[1] = kind in ("log", "symlog")

    def set_xlim(self, low: Any = None, high: Any = None, **more: Any) -> None:
        self.chart.limits[0] = low if isinstance(low, tuple) else (low, high)

    def set_ylim(self, low: Any = None, high: Any = None, **more: Any) -> None:
        self.chart.limits[1] = low if isinstance(low, tuple) else (low, high)

    def legend(self, *names: Any, **more: Any) -> None:
        self.chart.legend = True

    def grid(self, *args: Any, **more: Any) -> None:
        """There always is one."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(f"Axes.{name}", name)


class Figure:
    """A row of charts."""

    def __init__(self, axes: list[Axes]) -> None:
        self.axes = axes

    def add_subplot(self, *place: Any, **more: Any) -> Axes:
        self.axes.append(Axes())
        return self.axes[-1]

    def suptitle(self, text: str, **more: Any) -> None:
        self.axes[0].chart.title = text

    def tight_layout(self, **more: Any) -> None:
        """It always is."""

    def show(self) -> None:
        show()

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(f"Figure.{name}", name)


def figure(*args: Any, **more: Any) -> Figure:
    global _figure
    show()
    _figure = Figure([])
    return _figure


def subplots(rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, Any]:
    made = figure()
    made.axes = [Axes() for _ in range(rows * columns)]
    grid = np.array(made.axes, object).reshape(rows, columns)
    return made, made.axes[0] if rows == columns == 1 else grid[0] if rows == 1 else grid[:, 0] if columns == 1 else grid


def gcf() -> Figure:
    return _figure or figure()


def gca() -> Axes:
    found = gcf()
    return found.axes[-1] if found.axes else found.add_subplot()


def show(*args: Any, **more: Any) -> None:
    """Give the figure to the page; it is done at the end of a program, too."""
    global _figure
    if _figure is not None:
        for axes in _figure.axes:
            if not axes.chart.is_empty():
                deliver(axes.chart.svg())
    _figure = None


def savefig(*args: Any, **more: Any) -> None:
    """The figure is shown: files of a page are lost with it."""


def close(*args: Any) -> None:
    global _figure
    _figure = None


def clf() -> None:
    close()


def tight_layout(**more: Any) -> None:
    """It always is."""


def _of_axes(name: str, method: str) -> Callable[..., Any]:
    def function(*args: Any, **more: Any) -> Any:
        return getattr(gca(), method)(*args, **more)

    function.__name__ = function.__qualname__ = name
    return function


for _name in ("plot", "scatter", "bar", "hist", "imshow", "matshow", "axhline", "axvline", "semilogy", "legend", "grid"):
    globals()[_name] = _of_axes(_name, _name)
for _name in ("title", "xlabel", "ylabel", "xscale", "yscale", "xlim", "ylim"):
    globals()[_name] = _of_axes(_name, f"set_{_name}")


def _numbers(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):  # as matplotlib does, which refuses a tensor that requires grad
        values = values.numpy()
    return np.asarray([float(x) for x in values] if isinstance(values, (list, tuple, range)) and not any(
        hasattr(x, "__len__") for x in values) else values, np.float64)


def _refuse(what: str, name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"matplotlib's {what} is not in this page, which draws lines, points, bars and images")


def __getattr__(name: str) -> NoReturn:
    _refuse(f"pyplot.{name}", name)
