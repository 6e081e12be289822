"""`regard parse`: the tree of a sentence, as brackets and as a picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.parse import Parse
    from regard.data.trees import Leaf, Tree
    from regard.draw.branches import Branch

COLUMNS = (".conll", ".conllu", ".tsv")  # endings of files with a word a line
BRACKETS = (".mrg", ".ptb", ".brackets", ".trees")  # … of bracket files
FORMATS = ("tree", "brackets", "lines", "conll")


@declare.command("""
  regard parse runs/phrasebook-parse "The tired dogs sleep."
  regard parse runs/phrasebook-parse "The tired dogs sleep." --svg tree.svg
  regard parse runs/phrasebook-parse --file sentences.txt --format brackets
  regard parse runs/treebank --file test.mrg --output parsed.mrg --beam 4""")
@declare.model
@click.argument("text", nargs=-1)
@declare.file("Parse a file, a sentence a line; a bracket file (.mrg) or .conll: its words.")
@declare.choice("--format", "form", among=FORMATS, help="How a tree is printed.")
@declare.flag("--spaces", help="Words are what spaces divide; default: as the model learned.")
@declare.count("--beam", help="Beam size; 1 is greedy.")
@click.option("--alpha", type=float, help="Exponent of the length norm.")
@declare.output("Write the trees here: brackets, or columns to a .conll.")
@declare.path("--svg", help="Draw the tree of a single sentence.")
@declare.device
@declare.json("One JSON object a sentence.")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    form: str,
    spaces: bool,
    beam: int | None,
    alpha: float | None,
    output: Path | None,
    svg: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Print the tree of each sentence TEXT; every output is a well-formed tree over its words.

    MODEL is a run of `regard train` with objective "parse". Without TEXT, lines of standard input
    are parsed.
    """
    from regard import atomic
    from regard.answer.parse import parse_texts
    from regard.cli.inputs import opened, say_written
    from regard.draw.terminal.progress import progress_bar

    if svg and (file or len(text) != 1):
        raise click.UsageError("--svg draws one sentence: give one TEXT")
    loaded = opened(model, "parse", device)
    written: list[str] = []
    with progress_bar("parsing", None) as bar:
        for sentences in _sentences(text, file, spaces):
            parses = parse_texts(loaded, sentences, beam, alpha, bar.advance)
            for sentence, parse in zip(sentences, parses, strict=True):
                if output:
                    written.append(_as_text(parse.tree, output.suffix))
                elif as_json:
                    click.echo(valid_json(_row(sentence, parse)))
                else:
                    _print(parse.tree, form)
                if svg:
                    _draw(parse.tree, svg)
                    say_written(svg)
    if output:
        atomic.write_text(output, "".join(written))
        say_written(output)


def _sentences(
    text: tuple[str, ...], file: Path | None, spaces: bool
) -> Iterator[list[str | list[str]]]:
    """Texts, or lists of words where these are known."""
    from regard.cli.inputs import check_there, texts_of
    from regard.data.tree_columns import read_columns
    from regard.data.trees import cleaned, read_trees, words_of_tree

    if file:
        check_there(file)
    if file and not text and file.suffix in BRACKETS:
        trees = map(cleaned, read_trees(file))
        yield [words_of_tree(tree) for tree in trees if tree is not None]
    elif file and not text and file.suffix in COLUMNS:
        yield [*read_columns(file)]
    else:
        for texts in texts_of(text, file):
            rows = [one for one in texts if text or one.strip()]
            yield [one.split() if spaces else one for one in rows]


def _as_text(tree: "Tree", suffix: str) -> str:
    from regard.data.tree_columns import in_columns
    from regard.data.trees import bracketed

    return f"{in_columns(tree)}\n" if suffix in COLUMNS else f"{bracketed(tree)}\n"


def _print(tree: "Tree", form: str) -> None:
    from regard.cli.streams import echo_answer
    from regard.data.tree_columns import in_columns
    from regard.data.trees import bracketed, on_lines
    from regard.draw.terminal.branches import BranchDrawing
    from regard.draw.terminal.console import Console

    if form == "lines":
        click.echo(on_lines(tree))
    elif form == "conll":
        click.echo(in_columns(tree))
    else:
        echo_answer(bracketed(tree))
    if form == "tree":
        click.echo()
        Console(highlight=False).print(BranchDrawing(_branch(tree)))
        click.echo()


def _draw(tree: "Tree", svg: Path) -> None:
    from regard.data.trees import words_of_tree
    from regard.draw.figure.branches import branches
    from regard.draw.figure.svg import write_svg

    write_svg(svg, branches(_branch(tree), " ".join(words_of_tree(tree))))


def _branch(part: "Tree | Leaf") -> "Branch":
    from regard.data.trees import Leaf
    from regard.draw.branches import Branch

    if isinstance(part, Leaf):
        return Branch(part.tag, word=part.word)
    return Branch(part.label, tuple(map(_branch, part.children)))


def _row(sentence: str | list[str], parse: "Parse") -> dict[str, object]:
    """One sentence, for a program."""
    text = sentence if isinstance(sentence, str) else " ".join(sentence)
    return {
        "text": text,
        "brackets": parse.brackets,
        "words": parse.words,
        "tags": parse.tags,
        "score": parse.score,
        "log_probability": parse.log_probability,
    }
