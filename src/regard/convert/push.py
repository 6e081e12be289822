"""A model onto the hub: its files are made here, whole, and then handed on in one commit."""

from pathlib import Path
from tempfile import TemporaryDirectory

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from regard.bundle.bundle import Bundle
from regard.convert.convert import To, convert
from regard.errors import MisuseError, RegardError


def push(
    bundle: Bundle,
    name: str,
    to: To | None,
    private: bool,
    token: str | None,
    message: str,
) -> str:
    """The address of the repository that has the model now."""
    api = HfApi(token=token)
    with TemporaryDirectory(prefix="regard-") as place:
        folder = Path(place) / "model"
        _write(bundle, folder, to, name)
        try:
            address = api.create_repo(name, private=private, exist_ok=True)
            api.upload_folder(repo_id=name, folder_path=folder, commit_message=message)
        except HFValidationError as error:
            raise MisuseError(f"push_to_hub: {name!r}", expected=f"owner/name: {error}") from None
        except (HfHubHTTPError, OSError) as error:
            problem = f"the hub does not take it: {error}"
            advice = "`hf auth login` says who you are"
            raise RegardError(f"push_to_hub: {name}", problem, advice=advice) from None
    return str(address)


def _write(bundle: Bundle, folder: Path, to: To | None, name: str) -> None:
    """In the layout of a published family where one can say all that the model is, else in ours."""
    ways: list[To] = [to or "hf"]
    if to is None and bundle.is_run:
        ways.append("native")
    for way in ways:
        try:
            convert(bundle.path, folder, way, allow_pickle=bundle.allow_pickle, card=name)
            return
        except MisuseError:
            if way == ways[-1]:
                raise
