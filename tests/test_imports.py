"""What `import regard` gives, and that it gives it without torch."""

import subprocess
import sys

import pytest

import regard


def test_importing_regard_imports_no_torch() -> None:
    code = "import sys, regard; assert 'torch' not in sys.modules; regard.load; import torch"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_exported_names_exist() -> None:
    for name in regard.__all__:
        assert name in ("__version__", "errors") or callable(regard.__getattr__(name))
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        regard.__getattr__("laod")
