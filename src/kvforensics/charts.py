"""How is a chart drawn as a picture that needs no script?

Charts become SVG with real text. The bytes depend on the values alone: fonts come with the drawing library, its settings
are its own defaults, and it is told no date. Kinds differ by shade and hatching, so that they hold in greyscale; no text
of strangers is drawn. Every colour is one of `LIGHT`, as a presentation attribute, so that a medium can swap it.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from kvforensics.page import Chart, HeatMap, TimeBars, TokenBars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIGHT: Mapping[str, str] = {
    "ink": "#1b1f24", "quiet": "#57606b", "line": "#c9ced6", "paper": "#fefefd", "window": "#e6ebf2", "bar": "#7d92b0",
    "deep": "#14304f", "mid": "#4a678c", "pale": "#93a7c2", "alarm": "#8c1d18",
}  # fmt: skip
WIDTH_INCHES = 7.4
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_FONT = re.compile(r"(?:(?:normal|italic|bold|\d{3})\s+)*([\d.]+)px\s.*")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HOUR_US = 3_600_000_000
_FULL, _BUSY = 0.5, 1 / 6


def draw(chart: Chart, colours: Mapping[str, str] = LIGHT) -> str:
    """The chart as one `<svg>` element with a title and a description. `colours` replace those of `LIGHT`."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": chart.id, "font.family": ["DejaVu Sans"], "font.size": 9,
        "hatch.linewidth": 0.7, "text.parse_math": False, "axes.formatter.use_locale": False,
        "axes.edgecolor": LIGHT["quiet"], "text.color": LIGHT["ink"], "axes.labelcolor": LIGHT["ink"],
        "xtick.color": LIGHT["quiet"], "ytick.color": LIGHT["quiet"], "xtick.labelcolor": LIGHT["ink"],
        "ytick.labelcolor": LIGHT["ink"], "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(settings)
        match chart:
            case TimeBars():
                figure = _time_bars(chart)
            case TokenBars():
                figure = _token_bars(chart)
            case HeatMap():
                figure = _heat_map(chart)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return _plain(out.getvalue(), chart, colours)


def _figure(height: float, panels: int, *, share: bool, ratios: Sequence[float] | None = None) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=share, squeeze=False, height_ratios=ratios)
    return figure, [axes[i][0] for i in range(panels)]


def _time_bars(chart: TimeBars) -> Figure:
    figure, axes = _figure(1.0 + 1.55 * len(chart.panels), len(chart.panels), share=True)
    edges = [_days(us) for us in chart.edges_us]
    widths = [b - a for a, b in pairwise(edges)]
    styles: tuple[dict[str, Any], ...] = (
        {"color": LIGHT["deep"], "hatch": None}, {"color": LIGHT["paper"], "hatch": "////"},
        {"color": LIGHT["pale"], "hatch": "...."}, {"color": LIGHT["paper"], "hatch": None},
    )  # fmt: skip
    for axis, (title, series) in zip(axes, chart.panels, strict=True):
        _time_axis(axis, chart.edges_us, chart.window_us, chart.tail_until_us)
        below = [0] * len(widths)
        for one, style in zip(series, styles, strict=False):
            fill = LIGHT["bar"] if len(series) == 1 else style["color"]
            axis.bar(
                edges[:-1], one.counts, widths, bottom=below, align="edge", label=one.name, facecolor=fill,
                hatch=style["hatch"] if len(series) > 1 else None, edgecolor=LIGHT["ink"], linewidth=0.4, zorder=3,
            )  # fmt: skip
            below = [a + b for a, b in zip(below, one.counts, strict=True)]
        _count_axis(axis, max(below, default=0))
        axis.set_title(title, loc="left", fontsize=9, pad=16 if axis is axes[0] else 6)
        if len(series) > 1:
            axis.legend(
                loc="lower right", bbox_to_anchor=(1, 1), ncols=len(series), fontsize=7.5, frameon=False, borderaxespad=0.3,
                handlelength=1.4, columnspacing=1.1,
            )  # fmt: skip
        for us in chart.events_us:
            axis.axvline(_days(us), color=LIGHT["alarm"], linewidth=1, linestyle=(0, (4, 2)), zorder=4)
    _event_numbers(axes[0], chart.events_us)
    return figure


def _event_numbers(axis: Axes, events_us: Sequence[int]) -> None:
    """A number over each event's line; events too close to tell apart share one place: `2, 3`."""
    low, high = axis.get_xlim()
    places: list[tuple[float, list[int]]] = []
    for number, us in enumerate(events_us, 1):
        at = _days(us)
        if places and at - places[-1][0] < (high - low) / 40:
            places[-1][1].append(number)
        else:
            places.append((at, [number]))
    for at, numbers in places:
        axis.annotate(
            ", ".join(map(str, numbers)), (at, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", fontsize=8, fontweight="bold", color=LIGHT["alarm"],
        )  # fmt: skip


def _token_bars(chart: TokenBars) -> Figure:
    figure, axes = _figure(1.0 + 1.5 * len(chart.panels), len(chart.panels), share=False)
    for axis, (title, edges, counts) in zip(axes, chart.panels, strict=True):
        widths = [b - a for a, b in pairwise(edges)]
        over = [LIGHT["deep"] if edge > chart.threshold else LIGHT["pale"] for edge in edges[:-1]]
        axis.bar(edges[:-1], counts, widths, align="edge", facecolor=over, edgecolor=LIGHT["ink"], linewidth=0.4, zorder=3)
        axis.set_xlim(edges[0], edges[-1])
        axis.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
        axis.axvline(chart.threshold, color=LIGHT["alarm"], linewidth=1.2, linestyle=(0, (4, 2)), zorder=4)
        _count_axis(axis, max(counts, default=0))
        axis.set_title(title, loc="left", fontsize=9)
    axes[-1].set_xlabel(f"prompt tokens; the dashed line is the threshold, {chart.threshold:,}")
    return figure


def _heat_map(chart: HeatMap) -> Figure:
    from matplotlib.patches import Patch, PathPatch, Rectangle
    from matplotlib.path import Path

    count = len(chart.rows)
    figure, (axis,) = _figure(1.35 + 0.24 * max(count, 1), 1, share=True)
    _time_axis(axis, chart.edges_us, chart.window_us, chart.tail_until_us)
    edges = [_days(us) for us in chart.edges_us]
    levels = ((_FULL, LIGHT["deep"], "half of the minutes or more"), (_BUSY, LIGHT["mid"], "a sixth or more"),
              (0.0, LIGHT["pale"], "less"))  # fmt: skip
    for level, colour, _ in levels:
        boxes = [
            Path([(a, y), (b, y), (b, y + 0.8), (a, y + 0.8), (a, y)], closed=True)
            for row, cells in enumerate(chart.rows)
            for a, b in _runs(edges, [_level(cell) == level for cell in cells])
            for y in [row - 0.4]
        ]
        if boxes:
            axis.add_patch(PathPatch(Path.make_compound_path(*boxes), facecolor=colour, edgecolor="none", zorder=3))
    for start, end in chart.gaps_us:
        box = Rectangle(
            (_days(start), -0.5), _days(end) - _days(start), count, facecolor="none", edgecolor=LIGHT["alarm"],
            hatch="////", linewidth=0.8, zorder=4,
        )  # fmt: skip
        axis.add_patch(box)
    axis.set_ylim(count - 0.5, -0.5)
    axis.set_yticks(range(count), chart.labels)
    axis.tick_params(axis="y", length=0)
    key = [Patch(facecolor=c, edgecolor=LIGHT["ink"], linewidth=0.4, label=name) for _, c, name in levels]
    if chart.gaps_us:
        key.append(Patch(facecolor="none", edgecolor=LIGHT["alarm"], hatch="////", label="no log covers this"))
    figure.legend(handles=key, loc="outside lower center", ncols=len(key), fontsize=8, frameon=False)
    return figure


def _level(share: float) -> float | None:
    if share <= 0:
        return None
    return _FULL if share >= _FULL else _BUSY if share >= _BUSY else 0.0


def _runs(edges: Sequence[float], wanted: Sequence[bool]) -> list[tuple[float, float]]:
    """Neighbouring cells as one stretch each."""
    runs: list[tuple[float, float]] = []
    for a, b, on in zip(edges, edges[1:], wanted, strict=False):
        if on and runs and runs[-1][1] == a:
            runs[-1] = (runs[-1][0], b)
        elif on:
            runs.append((a, b))
    return runs


def _time_axis(axis: Axes, edges_us: Sequence[int], window_us: tuple[int, int], tail_until_us: int) -> None:
    axis.set_xlim(_days(edges_us[0]), _days(edges_us[-1]))
    axis.axvspan(_days(window_us[0]), _days(window_us[1]), facecolor=LIGHT["window"], zorder=0)
    if tail_until_us > window_us[1]:
        axis.axvspan(
            _days(window_us[1]), _days(tail_until_us), facecolor=LIGHT["window"], edgecolor=LIGHT["quiet"], hatch="xxx",
            linewidth=0, zorder=0,
        )  # fmt: skip
    span_us = edges_us[-1] - edges_us[0]
    day = 24 * _HOUR_US
    step = next((s for s in (_HOUR_US, 3 * _HOUR_US, 6 * _HOUR_US, 12 * _HOUR_US, day, 2 * day, 4 * day, 7 * day, 14 * day,
                             28 * day, 91 * day, 365 * day) if span_us / s <= 10), 1 + span_us // 10)  # fmt: skip
    ticks = range(-(-edges_us[0] // step) * step, edges_us[-1] + 1, step)
    pattern = "%Y-%m-%d" if step >= day else "%m-%d %H:%M"
    axis.set_xticks([_days(us) for us in ticks], [(_EPOCH + dt.timedelta(microseconds=us)).strftime(pattern) for us in ticks])
    axis.tick_params(axis="x", labelsize=7.5)


def _count_axis(axis: Axes, most: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_ylim(0, max(most, 1) * 1.15)
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.yaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axis.grid(visible=True, axis="y", color=LIGHT["line"], linewidth=0.5, zorder=1)


def _days(us: int) -> float:
    return us / (24 * _HOUR_US)


def _plain(data: bytes, chart: Chart, colours: Mapping[str, str]) -> str:
    """One element with its words for those who cannot see it.

    Style attributes, which a strict content policy forbids, become presentation attributes.
    """
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ET.fromstring(data)  # noqa: S314 - our own drawing, not evidence
    swap = {LIGHT[name]: value for name, value in colours.items()}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    for element in root.iter():
        _unstyle(element)
        for name, value in element.attrib.items():
            if value in swap:
                element.set(name, swap[value])
            elif name in {"id", _XLINK, "clip-path"} or value.startswith("url(#"):
                element.set(name, _own(name, value, chart.id))
    root.set("role", "img")
    root.set("aria-labelledby", f"{chart.id}-title {chart.id}-alt")
    root.set("stroke-linejoin", "round")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.insert(0, _words("desc", f"{chart.id}-alt", chart.alt))
    root.insert(0, _words("title", f"{chart.id}-title", chart.title))
    return ET.tostring(root, encoding="unicode")


def _own(name: str, value: str, prefix: str) -> str:
    """Ids are made different for each chart, as several stand in one page."""
    if name == "id":
        return f"{prefix}-{value}"
    return re.sub(r"#", f"#{prefix}-", value, count=1)


def _unstyle(element: ET.Element[str]) -> None:
    style: Any = element.attrib.pop("style", "")
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            size = _FONT.fullmatch(value)
            element.set("font-size", size[1] if size else "9")
            element.set("font-family", "DejaVu Sans, Verdana, sans-serif")
            if "bold" in value or value.startswith("700"):
                element.set("font-weight", "700")
        else:
            element.set(name, value)


def _words(tag: str, ident: str, text: str) -> ET.Element[str]:
    element = ET.Element(f"{{{_SVG}}}{tag}", {"id": ident})
    element.text = text
    return element
