"""regard: the Transformer of *Attention Is All You Need*, whole, as software people use.

    model = regard.load("demo-de")               a model of any kind, by folder or name
    run = regard.train("demo", minutes=5)        a recipe, own files or rows → a trained run
    regard.index_folder, regard.open_index       search by meaning
    regard.errors                                what may be raised, and what each means

Importing regard imports no torch: what these names stand for is fetched on first use.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from regard import errors
from regard.version import __version__

if _TYPE_CHECKING:
    from regard.api.estimators import SentenceEncoder, TextClassifier
    from regard.api.load import load
    from regard.api.model import Model
    from regard.api.trained import Run
    from regard.api.training import train, train_records
    from regard.search.index import index_folder
    from regard.search.query import open_index

_LAZY = {
    "Model": "regard.api.model",
    "Run": "regard.api.trained",
    "SentenceEncoder": "regard.api.estimators",
    "TextClassifier": "regard.api.estimators",
    "index_folder": "regard.search.index",
    "load": "regard.api.load",
    "open_index": "regard.search.query",
    "train": "regard.api.training",
    "train_records": "regard.api.training",
}

__all__ = [
    "Model",
    "Run",
    "SentenceEncoder",
    "TextClassifier",
    "__version__",
    "errors",
    "index_folder",
    "load",
    "open_index",
    "train",
    "train_records",
]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from regard.processor.caps import note_import_order  # only before torch

        note_import_order()  # before torch is imported
        return vars(_import_module(_LAZY[name]))[name]
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
