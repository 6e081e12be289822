"""regard: the Transformer of *Attention Is All You Need*, whole, as software people use.

Importing regard imports no torch: what `regard.load`, `regard.open_index` and the other names
stand for is fetched on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.tasks.index import index_folder
    from regard.tasks.load import Model, load
    from regard.tasks.published import Published
    from regard.tasks.search import open_index

__all__ = ["Model", "Published", "__version__", "index_folder", "load", "open_index"]
__version__ = "0.1.0"

_LAZY = {
    "load": "regard.tasks.load",
    "Model": "regard.tasks.load",
    "Published": "regard.tasks.published",
    "index_folder": "regard.tasks.index",
    "open_index": "regard.tasks.search",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from regard.processor.caps import enter

        enter()  # before torch is imported
        return vars(import_module(_LAZY[name]))[name]
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
