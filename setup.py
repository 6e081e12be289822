"""What pyproject.toml cannot say: addresses that depend on where the project is published.

HOME below is the only place where that is written. While it is empty the package names no address,
and README's links stay what they are; then they lead from a package index to the files at HOME.
"""

import os
import re
from pathlib import Path
from typing import Any

from setuptools import setup

HOME = ""  # for example https://github.com/<who>/regard; $REGARD_HOME goes before it
BRANCH = "main"
WITHIN = r"(?![a-z]+:|#)"  # what follows leads neither to another site nor to this page
PAGES = {  # name on a package index → path at HOME
    "Homepage": "",
    "Documentation": f"/tree/{BRANCH}/docs",
    "Changelog": f"/blob/{BRANCH}/CHANGELOG.md",
    "Issues": "/issues",
}


def absolute_links(text: str, home: str) -> str:
    """Markdown whose links and pictures within the repository lead to `home`; without one, as is.

    A link to a place on the same page (#install) stays: a package index has it too.
    """
    if not home:
        return text
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("`") else _linked(part, home) for part in parts)


def _linked(prose: str, home: str) -> str:
    files, pictures = f"{home}/blob/{BRANCH}/", f"{home}/raw/{BRANCH}/"
    prose = re.sub(rf"(!\[[^\]]*\]\(){WITHIN}", rf"\g<1>{pictures}", prose)
    prose = re.sub(rf'(<(?:img|source)\b[^>]* src(?:set)?="){WITHIN}', rf"\g<1>{pictures}", prose)
    return re.sub(rf"(\]\(){WITHIN}", rf"\g<1>{files}", prose)


def metadata(home: str) -> dict[str, Any]:
    """What depends on `home`."""
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    return {
        "long_description": absolute_links(readme, home),
        "long_description_content_type": "text/markdown",
        "project_urls": {name: home + path for name, path in PAGES.items()} if home else {},
    }


if __name__ == "__main__":
    setup(**metadata(os.environ.get("REGARD_HOME", HOME).rstrip("/")))
