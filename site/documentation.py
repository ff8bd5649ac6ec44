"""The documentation: Markdown files of the repository as pages, with boxes that run."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import catalogue
import reference
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

HERE = Path(__file__).resolve().parent


class Source(NamedTuple):
    """A page: where it comes from, its address without ".html", and its name in the list of pages."""

    file: str
    address: str
    name: str
    # The one section of the file that is shown; and whether all programs of the page can be run there.
    section: str = ""
    is_live: bool = False


CHAPTERS = ("The graph", "Leaves", "backward()", "Gradients add up", "Modes", "In place", "Functions of your own",
            "Higher order", "The training loop", "Zero, NaN, and why")
COURSE = ("graph", "leaves", "backward", "accumulation", "modes", "in-place", "functions", "higher-order", "training",
          "explaining")

GROUPS: dict[str, list[Source]] = {
    "": [Source("docs/start.md", "index", "Start here")],
    "Gradients, answered": [Source(f"docs/course/{i:02}-{word}.md", f"course/{i:02}-{word}", f"{i}. {name}")
                            for i, (word, name) in enumerate(zip(COURSE, CHAPTERS, strict=True), 1)],
    "Answers": [Source("", "catalogue", "Catalogue of answers"),
                Source("examples/seeds.md", "seeds", "Four articles, corrected", is_live=True)],
    "Using it": [Source("docs/explanations.md", "explanations", "All commands"),
                 Source("docs/pytorch.md", "pytorch", "PyTorch programs"), Source("examples/README.md", "examples", "Examples"),
                 Source("docs/embedding.md", "embedding", "In pages of your own"),
                 Source("docs/distributed.md", "distributed", "Several processes"),
                 Source("docs/compile.md", "compile", "torch.compile"), Source("docs/scaling.md", "scaling", "Large programs")],
    "Reference": [Source("", "reference", "Of whygrad's own"), Source("", "reference/torch", "torch"),
                  Source("", "reference/tensor", "Tensor"), Source("", "reference/functional", "nn.functional, linalg ..."),
                  Source("", "reference/nn", "Layers"), Source("", "reference/optim", "Optimizers"),
                  Source("docs/coverage.md", "coverage", "What is there"),
                  Source("docs/half-precision.md", "half-precision", "Half precision"),
                  Source("docs/libraries.md", "libraries", "Libraries on top")],
    "Comparison": [Source("docs/comparison.md", "comparison", "What PyTorch says"),
                   Source("README.md", "benchmarks", "Benchmarks", "How it compares")],
    "How it works": [Source("docs/how-it-works.md", "how-it-works", "Overview"),
                     Source("src/whygrad/ops/README.md", "source/ops", "Rows"),
                     Source("src/whygrad/why/README.md", "source/why", "Explanations"),
                     Source("src/whygrad/base/README.md", "source/base", "Doors"),
                     Source("src/whygrad/kernels/README.md", "source/kernels", "Kernels")],
    "Contributing": [Source("docs/contributing.md", "contributing", "How to"), Source("tests/README.md", "source/tests", "Tests"),
                     Source("SECURITY.md", "security", "Security")],
}
SOURCES = [source for group in GROUPS.values() for source in group]
MADE = {"catalogue": catalogue.written, **reference.pages()}


class Renderer:
    """Markdown to HTML, for a page at an address."""

    def __init__(self, source: Source, root: Path) -> None:
        self.source, self.root = source, root
        self.images: set[Path] = set()
        self.headings: list[tuple[int, str, str]] = []
        self.has_boxes = False
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        for name in ("fence", "heading_open", "link_open", "image", "blockquote_open"):
            self.markdown.renderer.rules[name] = getattr(self, name)

    def page(self, text: str) -> str:
        return self.markdown.render(text)

    def fence(self, tokens: Any, index: int, *options: Any) -> str:
        words, content = tokens[index].info.split(), tokens[index].content
        kind = words[0] if words else "text"
        if kind in ("output", "answers"):
            title = "prints" if kind == "output" else "whygrad says"
            return f'<figure class="{kind}"><figcaption>{title}</figcaption><pre>{html.escape(content)}</pre></figure>\n'
        try:
            code = highlight(content, get_lexer_by_name(kind), HtmlFormatter(nowrap=True))
        except ClassNotFound:
            code = html.escape(content)
        block = f'<pre class="{"code wrapped" if kind == "text" else "code"}" tabindex="0">{code}</pre>'
        if "live" not in words and not (self.source.is_live and kind == "python"):
            return f"{block}\n"
        self.has_boxes = True
        box = f"<whygrad-box>{block}</whygrad-box>"
        lines = content.count("\n")
        return f"<details><summary>the program, {lines} lines</summary>{box}</details>\n" if "folded" in words else f"{box}\n"

    def heading_open(self, tokens: Any, index: int, *options: Any) -> str:
        content = tokens[index + 1].content
        text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", content)
        if content.startswith("`") and self.source.address in reference.HEADS:
            text = text.partition("(")[0]
        name = reference.anchor(text)
        self.headings.append((int(tokens[index].tag[1]), text, name))
        return f'<{tokens[index].tag} id="{name}"><a class="anchor" href="#{name}" aria-label="Link to this section">#</a>'

    def blockquote_open(self, tokens: Any, index: int, *options: Any) -> str:
        return '<blockquote class="belief">'

    def link_open(self, tokens: Any, index: int, *options: Any) -> str:
        target = self._target(tokens[index].attrs["href"])
        return f'<a href="{html.escape(target)}">' if target else "<a>"

    def image(self, tokens: Any, index: int, *options: Any) -> str:
        file = (self.root / self.source.file).parent / tokens[index].attrs["src"]
        self.images.add(file)
        address = self._up() + f"images/{file.name}"
        return f'<img src="{address}" alt="{html.escape(tokens[index].content)}" loading="lazy">'

    def _up(self) -> str:
        return "../" * self.source.address.count("/")

    def _target(self, link: str) -> str:
        """A link to a file of the repository as one to its page; "" if it has none."""
        if re.match(r"https?:|#", link):
            return link
        file, _, part = link.partition("#")
        if file.startswith("play/"):
            return self._up() + file
        resolved = os.path.normpath(self.root / Path(self.source.file or f"docs/{self.source.address}").parent / file)
        for source in SOURCES:
            # Pages of docs/ name others as they lie on the site; elsewhere links name files of the repository.
            if resolved in (str(self.root / source.file), str(self.root / "docs" / f"{source.address}.md")):
                return f"{self._up()}{source.address}.html" + (f"#{part}" if part else "")
        return ""


def navigation(current: Source) -> str:
    up = "../" * current.address.count("/")
    parts = []
    for group, sources in GROUPS.items():
        items = "".join(f'<li><a href="{up}{source.address}.html"{" aria-current=page" if source is current else ""}>'
                        f"{html.escape(source.name)}</a></li>" for source in sources)
        parts.append((f"<h2>{html.escape(group)}</h2>" if group else "") + f"<ul>{items}</ul>")
    return "".join(parts)


def neighbours(current: Source) -> str:
    """Links to the chapters before and after one of the course."""
    at, up = SOURCES.index(current), "../" * current.address.count("/")
    if "course/" not in current.address:
        return ""
    found = [(SOURCES[i], arrow) for i, arrow in ((at - 1, "←"), (at + 1, "→"))]
    return '<nav class="neighbours" aria-label="Chapters">' + "".join(
        f'<a href="{up}{source.address}.html">{arrow} {html.escape(source.name)}</a>' for source, arrow in found) + "</nav>"


def contents(headings: list[tuple[int, str, str]]) -> str:
    shown = [(text, name) for level, text, name in headings if level == 2]
    if len(shown) < 3:
        return ""
    return '<nav id="contents" aria-label="On this page"><h2>On this page</h2><ul>' + "".join(
        f'<li><a href="#{name}">{html.escape(text)}</a></li>' for text, name in shown) + "</ul></nav>"


def plain(text: str) -> str:
    """Markdown as text for the search."""
    return re.sub(r"\s+", " ", re.sub(r"```.*?```|[#`*|>]|<[^>]*>|\]\([^)]*\)", " ", text, flags=re.S)).strip()


def filled(template: str, **values: str) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], template)


def text_of(source: Source, root: Path) -> str:
    if source.address in MADE:
        return str(MADE[source.address](root))
    text = (root / source.file).read_text()
    if source.section:
        return f"# {source.section}" + text.partition(f"\n## {source.section}")[2].partition("\n## ")[0]
    return text


def build(out: Path, root: Path) -> None:
    """Write all pages, their images and the index of the search."""
    template = (HERE / "pages/page.html").read_text()
    index, images = [], set()
    for source in SOURCES:
        text = text_of(source, root)
        renderer = Renderer(source, root)
        body = renderer.page(text) + neighbours(source)
        images |= renderer.images
        title = renderer.headings[0][1] if renderer.headings else source.name
        up = "../" * source.address.count("/")
        page = out / f"{source.address}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        boxes = f'<script src="{up}play/whygrad-box.js" defer></script>' if renderer.has_boxes else ""
        page.write_text(filled(template, title=html.escape(title), up=up, navigation=navigation(source), boxes=boxes, body=body,
                               contents=contents(renderer.headings)))
        index.append({"address": f"{source.address}.html", "title": title, "text": plain(text)[:4000],
                      "headings": [[heading, name] for _, heading, name in renderer.headings[1:]]})
    (out / "search.json").write_text(json.dumps(index))
    (out / "images").mkdir()
    for image in images:
        shutil.copy(image, out / "images")
    for name in ("pages.css", "search.js"):
        shutil.copy(HERE / "pages" / name, out / name)
