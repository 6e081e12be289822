"""One call of every command, on tiny models and texts, in a folder of its own."""

from pathlib import Path

import captioned
import folders
import library
import toy
import toy_drawings
import toy_trees

MODELS = (
    "run",
    "bert",
    "fill",
    "classes",
    "tags",
    "spans",
    "gpt2",
    "t5",
    "vit",
    "trees",
    "draws",
    "captions",
)
TABLE = "text,label\nthe cat sat,glad\na bad dog,sad\n"
CALLS = {
    "demo": "demo --help",
    "models": "models",
    "train": "train --source a.en --target a.de --run new train.steps=2 train.validate_every=2 "
    + " ".join(toy.SMALL),
    "recipe": "recipe demo",
    "data": "data",
    "runs": "runs .",
    "plot": "plot run --svg plot.svg",
    "translate": "translate run --engine torch --file few.en",
    "score": "score run --source few.en --target few.de",
    "complete": "complete gpt2 the --max-tokens 3",
    "chat": "chat gpt2 the cat --max-tokens 3",
    "fill": "fill fill the[MASK]sat",
    "summarize": "summarize bert few.en",
    "generate": "generate t5 the --max-length 3",
    "classify": "classify classes --file table.csv --output labelled.csv",
    "tag": "tag tags --file few.en",
    "parse": "parse trees a.b --svg tree.svg",
    "answer": "answer spans the? --context few.en",
    "see": "see vit image.png",
    "caption": "caption captions image.png",
    "draw": "draw draws a.red.ring --seed 1 --output picture.png",
    "embed": "embed bert --file few.en --output vectors.npy",
    "index": "index texts --model bert --output index",
    "search": "search made.index cat --mode hybrid",
    "similar": "similar bert cat dog",
    "convert": "convert bert native --to native",
    "doctor": "doctor bert",
    "verify": "verify bert --update --golden golden.json",
    "evaluate": "evaluate run --engine torch --source few.en --reference few.de --output out.de",
    "explain": "explain run red --svg explain.svg",
    "positions": "positions --svg positions.svg",
    "lab": "lab residual --quick",
    "walk": "walk run red --html walk.html",
    "phrasebook": "phrasebook --output pairs",
    "serve": "serve --keys keys.txt --new-key ada",
}


def make(root: Path, toy_run: Path) -> Path:
    """The models; `root` gets a folder for each."""
    from PIL import Image

    from regard.fit.train import Request, train
    from regard.search.index import index_folder

    root.mkdir(parents=True, exist_ok=True)
    (root / "run").symlink_to(toy_run)
    folders.bert(root / "bert", "")
    folders.bert(root / "fill", "MaskedLM")
    folders.bert(root / "classes", "SequenceClassification", id2label=folders.LABELS)
    folders.bert(root / "tags", "TokenClassification", id2label=folders.LABELS)
    folders.bert(root / "spans", "QuestionAnswering")
    folders.gpt2(root / "gpt2")
    folders.t5(root / "t5")
    folders.vit(root / "vit")
    learned = ("train.steps=2", "train.validate_every=2")
    train(
        Request(toy_trees.recipe(root / "made"), learned, folder=root / "trees"), lambda line: None
    )
    made = ("draw.made=40", *learned)
    train(
        Request(toy_drawings.recipe(root / "made"), made, folder=root / "draws"), lambda line: None
    )
    table = captioned.write_folder(root / "captioned", 40)
    told = captioned.recipe(root / "made", f'images = "{table}"', 2)
    train(Request(told, (*captioned.MODEL, *learned), folder=root / "captions"), lambda line: None)
    Image.linear_gradient("L").save(root / "image.png")
    index_folder(library.write(root / "texts"), root / "made.index", root / "bert")
    return root


def place(folder: Path, root: Path) -> Path:
    """A folder to call from: texts of its own, links to the rest."""
    folder.mkdir(parents=True)
    for name in (*MODELS, "image.png", "texts", "made.index"):
        (folder / name).symlink_to((root / name).resolve())
    toy.write(folder, 120)
    for name in ("a.en", "a.de"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name.replace("a.", "few.")).write_text("".join(lines[:3]), encoding="utf-8")
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    return folder


def written(folder: Path) -> dict[str, bytes]:
    """What a command left in its folder, by name; nothing of what holds times, places or a draw."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        varies = name.startswith("new/") and not name.endswith(".safetensors")
        if path.is_file() and "/tensorboard/" not in name:
            differs = varies or name in ("index/manifest.json", "keys.txt")
            found[name] = b"" if differs else path.read_bytes()
    return found
