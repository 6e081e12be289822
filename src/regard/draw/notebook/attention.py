"""Attention in a notebook: a heat map with selectors for kind, layer and head.

Each kind of attention is one SVG, drawn for the mean of the heads of its last layer; the script
below it only paints the cells anew with the numbers of another layer or head. Without script the
first picture stands.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape

import numpy as np
from jaxtyping import Float

from regard.draw import palette
from regard.draw.figure.canvas import LEVELS
from regard.draw.figure.heat_map import heat_map
from regard.draw.figure.svg import svg
from regard.draw.grid import make_grid

MEAN = "mean of all heads"
SCRIPT = """(() => {
const box = document.getElementById("%(id)s"), data = %(data)s;
const [kind, layer, head] = box.querySelectorAll("select");
const dark = matchMedia("(prefers-color-scheme: dark)").matches ? 1 : 0;
const short = w => {
  const two = w.toFixed(2);
  return Number.isInteger(+two) ? String(+two) : two.replace(/^0/, "");
};
function paint() {
  const chosen = data.maps[kind.selectedIndex];
  while (layer.options.length > chosen.layers.length) layer.remove(layer.options.length - 1);
  while (layer.options.length < chosen.layers.length)
    layer.add(new Option("layer " + (layer.options.length + 1)));
  if (layer.selectedIndex < 0) layer.selectedIndex = chosen.layers.length - 1;
  const weights = chosen.layers[layer.selectedIndex][head.selectedIndex];
  box.querySelectorAll(".map").forEach((map, n) => {
    map.style.display = n === kind.selectedIndex ? "" : "none";
    if (n !== kind.selectedIndex) return;
    map.querySelectorAll(".tip").forEach((cell, i) => {
      const w = weights[i], step = Math.round(Math.min(1, Math.max(0, w)) * %(levels)d);
      cell.querySelector("rect").style.fill = data.colours[dark][step];
      const title = cell.querySelector("title"), text = cell.querySelector("text");
      title.textContent = title.textContent.replace(/[^:]*$/, " " + w.toFixed(3));
      if (text) { text.textContent = short(w); text.style.fill = data.inks[dark][step]; }
    });
    map.querySelectorAll("svg > text")[0].textContent =
      [chosen.name, layer.value, head.value].join(", ");
  });
}
[kind, layer, head].forEach(select => select.addEventListener("change", paint));
})();"""


@dataclass(frozen=True)
class LayeredMap:
    """One kind of attention: its words, and the weights of every layer and head."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    layers: Sequence[Float[np.ndarray, "H rows columns"]]


def attention_html(maps: Sequence[LayeredMap], subtitle: str) -> str:
    """The heat maps with their selectors; the kinds have as many heads as each other."""
    data = json.dumps(
        {
            "maps": [{"name": m.name, "layers": [_numbers(w) for w in m.layers]} for m in maps],
            "colours": [[palette.scale(f, dark=dark) for f in _steps()] for dark in (False, True)],
            "inks": [
                [palette.ink_on(palette.scale(f, dark=dark)) for f in _steps()]
                for dark in (False, True)
            ],
        }
    ).replace("</", "<\\/")
    name = "regard-" + sha256(data.encode() + subtitle.encode()).hexdigest()[:12]
    heads = [MEAN, *(f"head {n + 1}" for n in range(len(maps[0].layers[0])))]
    layers = [f"layer {n + 1}" for n in range(len(maps[0].layers))]
    selects = "".join(
        (
            _select("kind of attention", [m.name for m in maps], 0),
            _select("layer", layers, len(layers) - 1),
            _select("head", heads, 0),
        )
    )
    pictures = "".join(
        f'<div class="map"{"" if n == 0 else " style=display:none"}>'
        f"{_picture(m, subtitle).replace('regard-map', f'{name}-{n}')}</div>"
        for n, m in enumerate(maps)
    )
    script = SCRIPT % {"id": name, "data": data, "levels": LEVELS}
    return f'<div id="{name}">{selects}{pictures}</div><script>{script}</script>'


def _picture(shown: LayeredMap, subtitle: str) -> str:
    title = f"{shown.name}, layer {len(shown.layers)}, {MEAN}"
    weights = shown.layers[-1].mean(axis=0)
    return svg(heat_map(make_grid(weights, shown.rows, shown.columns), title, subtitle))


def _steps() -> list[float]:
    return [step / LEVELS for step in range(LEVELS + 1)]


def _numbers(weights: Float[np.ndarray, "H rows columns"]) -> list[list[float]]:
    """The mean of the heads, then each; row by row, rounded to what is shown."""
    stack = np.concatenate([weights.mean(axis=0, keepdims=True), weights])
    rounded: list[list[float]] = np.round(stack.reshape(len(stack), -1), 4).tolist()
    return rounded


def _select(label: str, options: Sequence[str], chosen: int) -> str:
    items = "".join(
        f"<option{' selected' if n == chosen else ''}>{escape(option)}</option>"
        for n, option in enumerate(options)
    )
    return f'<select aria-label="{label}" style="margin:0 8px 6px 0">{items}</select>'
