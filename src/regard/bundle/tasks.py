"""How each task that a model may offer is shown to a person: a row a task, whoever shows it.

What a model offers, its family says (checkpoint/families/family.py), or the objective of its run
(runs/objectives.py).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskExample:
    """One task, tried: `{}` stands for the model."""

    command: str
    python: str
    pipeline: str = ""  # what the hub calls it


TASKS = {
    "translate": TaskExample(
        'regard translate {} "How are you?"', 'model.translate("How are you?")', "translation"
    ),
    "generate": TaskExample(
        'regard generate {} "translate English to German: How are you?"',
        'model.generate("a text")',
        "text2text-generation",
    ),
    "complete": TaskExample(
        'regard complete {} "Once upon a time"',
        'model.complete("Once upon a time")',
        "text-generation",
    ),
    "chat": TaskExample(
        'regard chat {} "Hi, how are you?"',
        'model.chat([{"role": "user", "content": "Hi, how are you?"}])',
        "text-generation",
    ),
    "tag": TaskExample(
        'regard tag {} "A sentence."', 'model.tag("a text")', "token-classification"
    ),
    "classify": TaskExample(
        'regard classify {} "A sentence."', 'model.classify("a text")', "text-classification"
    ),
    "fill": TaskExample(
        'regard fill {} "Paris is the [MASK] of France."', 'model.fill("a [MASK]")', "fill-mask"
    ),
    "answer": TaskExample(
        'regard answer {} "Who won?" --context text.txt',
        'model.answer("Who won?", "a text")',
        "question-answering",
    ),
    "parse": TaskExample('regard parse {} "A sentence."', 'model.parse("A sentence.")'),
    "see": TaskExample(
        "regard see {} image.png", 'model.see("picture.png")', "image-classification"
    ),
    "caption": TaskExample(
        "regard caption {} image.png", 'model.caption("picture.png")', "image-to-text"
    ),
    "draw": TaskExample(
        'regard draw {} "two red circles above a blue square"',
        'model.draw("two red circles above a blue square").best.save("picture.png")',
        "text-to-image",
    ),
    "embed": TaskExample(
        'regard embed {} "A sentence."', 'model.embed("a text")', "feature-extraction"
    ),
}
