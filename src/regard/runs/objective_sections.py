"""The keys that one objective alone has, as the section of a recipe that is named after it.

The row of an objective (runs/objectives.py) names its section.
"""

from dataclasses import dataclass
from typing import Literal

from regard.data.scenes.layouts import WAYS
from regard.errors import ConfigError
from regard.runs.sections import MOST, Metric, check_above_zero, check_within

MOST_WHITE = 65_535.0
MOST_MADE = 10_000_000  # pictures
FEWEST_NAMES = 3  # kinds of things, so that a grid can show two of them and another has others


@dataclass(frozen=True)
class SimilarSection:
    """Of objective "similar": what the pairs say, and what is learned from them.

    With `label_pairs` the pairs are made of texts with labels: of each text so many with its label
    and as many with another (data/label_pairs.py).
    """

    loss: Literal["score", "negatives"] = "score"
    label_pairs: int = 0
    low: float = 0.0
    high: float = 5.0
    scale: float = 20.0

    def __post_init__(self) -> None:
        bounds = {"low": (-MOST, MOST), "high": (-MOST, MOST), "label_pairs": (0, 1000)}
        check_within(self, bounds)
        if self.label_pairs and self.loss != "score":
            raise ConfigError("label_pairs", 'pairs of labels are alike or not: take loss "score"')
        check_above_zero("scale", self.scale)
        if not self.low < self.high:
            raise ConfigError("high", got=self.high, expected=f"more than low ({self.low})")


@dataclass(frozen=True)
class DistilSection:
    """Of objective "distil": what the student learns from, with which weight."""

    temperature: float = 2.0
    labels: float = 1.0
    soft: float = 1.0
    hidden: float = 1.0

    def __post_init__(self) -> None:
        check_above_zero("temperature", self.temperature)
        check_within(self, {"labels": (0, MOST), "soft": (0, MOST), "hidden": (0, MOST)})
        if not self.labels + self.soft + self.hidden:
            raise ConfigError("labels, soft and hidden are all 0: there is nothing to learn from")


@dataclass(frozen=True)
class TextToTextSection:
    """Of objective "text-to-text".

    `prefix` and `metric` are those of a recipe without data.tasks. With `corrupt` plain texts are
    learned from: `share` of their tokens is hidden, in spans of `span` on average (data/spans.py).
    `sentinels` is how many signs for holes a new vocabulary has.
    """

    prefix: str = ""
    metric: Metric = "bleu"
    corrupt: bool = False
    share: float = 0.15
    span: float = 3.0
    sentinels: int = 100

    def __post_init__(self) -> None:
        check_within(self, {"span": (1, MOST), "sentinels": (0, 10_000)})
        if not 0 < self.share < 1:
            raise ConfigError("share", got=self.share, expected="0 < share < 1")


@dataclass(frozen=True)
class AnswerSection:
    """Of objective "answer": how a long context is read, and which questions are learned from.

    A window of the context begins `stride` tokens after the one before it. `no_answer` of the
    questions are asked once more of another paragraph of their article, where no answer is;
    articles with the titles `leave_out` are not learned from (data/questions.py).
    """

    stride: int = 128
    no_answer: float = 0.0
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_within(self, {"stride": (1, 100_000), "no_answer": (0, 1)})


@dataclass(frozen=True)
class ChatSection:
    """Of objective "chat": how turns become one text (text/chat_template.py)."""

    template: Literal["", "plain", "chatml", "llama3", "llama2", "zephyr"] = ""  # "": found


@dataclass(frozen=True)
class SeeSection:
    """Of objective "see": what the pictures are, and how they vary.

    `crop`, `flip` and `erase` are data/augment.py's; `white` is how arrays and tables write a
    white pixel, `names` are the classes where the data has numbers, from 0.
    """

    crop: int = 0
    flip: bool = False
    erase: float = 0.0
    white: float = 255.0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.crop <= 1024:
            raise ConfigError("crop", got=self.crop, expected="0 to 1024 pixels")
        if not 0 <= self.erase <= 1:
            raise ConfigError("erase", got=self.erase, expected="a share, 0 to 1")
        if not 0 < self.white <= MOST_WHITE:
            raise ConfigError("white", got=self.white, expected=f"above 0, to {MOST_WHITE:,.0f}")
        if len(set(self.names)) < len(self.names):
            raise ConfigError("names", "two classes have one name", advice="give each its own")


@dataclass(frozen=True)
class ParseSection:
    """Of objective "parse": which trees of the file, and what of them is learned.

    `train`, `valid` and `test` are numbers of trees of data.texts, from 1: "1-3522"; "" are all
    that no other key names, or none.
    """

    train: str = ""
    valid: str = ""
    test: str = ""
    tags: bool = True
    words: Literal["plain", "penn"] = "plain"

    def __post_init__(self) -> None:
        for name in ("train", "valid", "test"):
            if vars(self)[name] and numbers_of(vars(self)[name]) is None:
                expected = 'numbers of trees from 1, first and last: "1-3522"'
                raise ConfigError(name, got=vars(self)[name], expected=expected)


@dataclass(frozen=True)
class CaptionSection:
    """Of objective "caption": how many pictures are made, and of what.

    `made` pictures are learned from, where they are drawn or put together; 0: as many as is
    usual. With `names`, which are nouns for labels from 0, pictures with labels become grids
    (data/scenes/grids.py). `white` is how arrays and tables write a white pixel.
    """

    made: int = 0
    names: tuple[str, ...] = ()
    white: float = 255.0

    def __post_init__(self) -> None:
        check_within(self, {"made": (0, MOST_MADE)})
        if not 0 < self.white <= MOST_WHITE:
            raise ConfigError("white", got=self.white, expected=f"above 0, to {MOST_WHITE:,.0f}")
        if self.names and len(set(self.names)) < max(FEWEST_NAMES, len(self.names)):
            problem = f"{len(self.names)}, of which {len(set(self.names))} differ"
            raise ConfigError("names", got=problem, expected=f"{FEWEST_NAMES} or more, all others")
        if any(not name.strip() or name != name.strip() for name in self.names):
            raise ConfigError("names", got=list(self.names), expected="words without spaces around")


@dataclass(frozen=True)
class DrawSection:
    """Of objective "draw": what is made of pictures and captions.

    `made` scenes are learned from; 0: as many as is usual. A patch has `patch` pixels on a side,
    and at most `codes` different ones are told apart. Of the share `unsaid` of all groups a caption
    leaves the colour out. Scenes are in good order, in one of `ways` (data/scenes/layouts.py); 0:
    things lie anywhere.
    """

    made: int = 0
    patch: int = 6
    codes: int = 1024
    unsaid: float = 0.2
    ways: int = WAYS

    def __post_init__(self) -> None:
        most = {"made": (0, MOST_MADE), "ways": (0, WAYS)}
        check_within(self, {**most, "patch": (1, 1024), "codes": (1, 65_536)})
        if not 0 <= self.unsaid < 1:
            raise ConfigError("unsaid", got=self.unsaid, expected="0 ≤ share < 1")


def numbers_of(text: str) -> range | None:
    """What a range like "1-3522" means, as places from 0; None if it is none."""
    first, dash, last = text.partition("-")
    is_number = [part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last)]
    if not dash or not all(is_number):
        return None
    places = range(int(first) - 1, int(last))
    return places if places.start >= 0 and len(places) else None
