"""A model card: what a model is, what it was trained on, how good it is, and how to use it.

It is the README.md of a folder that is handed on: front matter that the hub reads, then sections.
Everything in it comes from the run's own files; what they do not say is left out.
"""

import json
from collections.abc import Iterator

from regard.bundle.bundle import Bundle
from regard.checkpoint.files import read_own_json
from regard.model.spec import parameter_count
from regard.runs.curves import data_in_words
from regard.runs.folder import RunFolder
from regard.version import __version__

# task → what the hub calls it
PIPELINES = {
    "translate": "translation",
    "generate": "text2text-generation",
    "complete": "text-generation",
    "chat": "text-generation",
    "tag": "token-classification",
    "classify": "text-classification",
    "fill": "fill-mask",
    "see": "image-classification",
    "caption": "image-to-text",
    "draw": "text-to-image",
    "embed": "feature-extraction",
}
USES = {
    "translate": 'model.translate("How are you?")',
    "generate": 'model.generate("a text")',
    "complete": 'model.complete("Once upon a time")',
    "chat": 'model.chat([{"role": "user", "content": "Hi, how are you?"}])',
    "tag": 'model.tag("a text")',
    "classify": 'model.classify("a text")',
    "fill": 'model.fill("a [MASK]")',
    "see": 'model.see("picture.png")',
    "caption": 'model.caption("picture.png")',
    "draw": 'model.draw("two red circles above a blue square").best.save("picture.png")',
    "embed": 'model.embed("a text")',
}


def model_card(bundle: Bundle, name: str, golden: str = "") -> str:
    """The card of a model, under this name; `golden` is the checksum of its golden answers."""
    task = bundle.tasks[0] if bundle.tasks else ""
    front = {
        "library_name": "regard",
        "pipeline_tag": PIPELINES.get(task),
        "tags": ["regard", "transformer"],
    }
    lines = ["---", *(f"{k}: {json.dumps(v)}" for k, v in front.items() if v), "---", ""]
    lines += [f"# {name}", "", *_what(bundle), ""]
    if task:
        lines += ["```python", "import regard", "", f'model = regard.load("{name}")']
        lines += [USES[task], "```", ""]
    if bundle.is_run:
        lines += [*_training(bundle.run), *_scores(bundle.run)]
    if golden:
        lines += ["## Golden answers", ""]
        lines += [f"SHA-256 of `golden.json`: `{golden}`; `regard verify` compares with it.", ""]
    return "\n".join([*lines, f"Written by regard {__version__}.", ""])


def _what(bundle: Bundle) -> Iterator[str]:
    spec = bundle.spec
    layers = f"{spec.encoder_layers} encoder and {spec.decoder_layers} decoder layers"
    yield (
        f"A Transformer ({bundle.family_name}) of {parameter_count(spec):,} parameters: {layers}, "
        f"d_model {spec.d_model}, {spec.heads} heads. It offers: {', '.join(bundle.tasks)}."
    )


def _training(run: RunFolder) -> Iterator[str]:
    """Data and recipe."""
    recipe, info = read_own_json(run.recipe), run.read_info()
    yield from ("## Training", "", f"- data: {data_in_words(recipe['data'])}")
    yield from (f"  - {line}" for line in info.get("data_report", ()))
    yield f"- objective: {recipe.get('objective', 'translate')}"
    yield f"- steps: {info.get('step', 0):,}, {info.get('state', '')}"
    bits = info.get("bits") or {}
    with_what = (
        f"regard {info.get('regard', '')}",
        f"torch {bits.get('torch', '')}",
        bits.get("cpu"),
    )
    yield f"- trained with {', '.join(filter(None, with_what))}"
    yield from ("", "<details><summary>recipe</summary>", "", "```json")
    yield json.dumps(recipe, indent=1, ensure_ascii=False)
    yield from ("```", "", "</details>", "")


def _scores(run: RunFolder) -> Iterator[str]:
    """Of the weights that were chosen in the end."""
    if not run.weights_info.is_file():
        return
    chosen = read_own_json(run.weights_info)
    yield from ("## Scores", "", f"Of {chosen['from']}, on what the run held out:", "")
    for name, value in chosen.items():
        if isinstance(value, float):
            yield f"- {name} {value:.4f}"
    yield ""
