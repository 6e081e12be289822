"""regard: the Transformer of *Attention Is All You Need*, whole, as software people use.

Importing regard imports no torch: what `regard.load`, `regard.open_index` and the other names
stand for is fetched on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from regard.version import __version__

if TYPE_CHECKING:
    from regard.api.model import Model, load
    from regard.search.index import index_folder
    from regard.search.query import open_index

__all__ = ["Model", "__version__", "index_folder", "load", "open_index"]

_LAZY = {
    "load": "regard.api.model",
    "Model": "regard.api.model",
    "index_folder": "regard.search.index",
    "open_index": "regard.search.query",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from regard.processor.caps import enter  # only before torch

        enter()  # before torch is imported
        return vars(import_module(_LAZY[name]))[name]
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
