"""Fetching against a server on this machine: whole, cut off, changed, refused, hanging, sent on."""

from pathlib import Path

import pytest

from loopback import Site, serving
from regard.datasets import fetch as module
from regard.datasets.fetch import fetch
from regard.errors import DataError, MisuseError
from small_disk import fill, mounted

BODY = bytes(range(256)) * 3000  # several chunks


def test_a_whole_file(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    with serving(Site({"/a.txt": BODY})) as site:
        fetch(f"{site.address}/a.txt", tmp_path / "a", lambda *counts: told.append(counts))
    assert (tmp_path / "a").read_bytes() == BODY
    assert told[0] == (0, len(BODY)) and told[-1] == (len(BODY), len(BODY))


def test_a_cut_is_resumed_by_the_next_try(tmp_path: Path) -> None:
    with serving(Site({"/a.txt": BODY}, cuts=[100_000, 200_000])) as site:
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert (tmp_path / "a").read_bytes() == BODY
    assert site.asked == [("/a.txt", ""), ("/a.txt", "bytes=100000-"), ("/a.txt", "bytes=300000-")]


def test_a_later_call_goes_on_where_the_first_was_given_up(tmp_path: Path) -> None:
    part = tmp_path / "a"
    with serving(Site({"/a.txt": BODY}, cuts=[5000, 5000, 5000])) as site:
        with pytest.raises(DataError, match=r"ended after 15,000 of 768,000 .* 15,000 bytes are k"):
            fetch(f"{site.address}/a.txt", part, pause=0)
        assert part.read_bytes() == BODY[:15_000]
        fetch(f"{site.address}/a.txt", part, pause=0)
        assert part.read_bytes() == BODY and site.asked[-1] == ("/a.txt", "bytes=15000-")
        fetch(f"{site.address}/a.txt", part, pause=0)  # all is here: nobody is asked
    assert len(site.asked) == 4


def test_a_file_that_changed_meanwhile_is_begun_again(tmp_path: Path) -> None:
    with serving(Site({"/a.txt": BODY}, cuts=[5000] * 3)) as site:
        with pytest.raises(DataError):
            fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
        site.files["/a.txt"], site.tag = BODY[::-1], '"v2"'
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert (tmp_path / "a").read_bytes() == BODY[::-1]


def test_a_file_that_became_shorter_is_begun_again(tmp_path: Path) -> None:
    with serving(Site({"/a.txt": BODY}, cuts=[5000] * 3)) as site:
        with pytest.raises(DataError):
            fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
        site.files["/a.txt"] = BODY[:700]  # what is asked for does not exist any more: 416
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert (tmp_path / "a").read_bytes() == BODY[:700]


def test_a_server_that_cannot_resume_sends_all_of_it(tmp_path: Path) -> None:
    with serving(Site({"/a.txt": BODY}, cuts=[5000], ranges=False)) as site:
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert (tmp_path / "a").read_bytes() == BODY


def test_a_missing_file_is_said_at_once(tmp_path: Path) -> None:
    with serving(Site()) as site, pytest.raises(DataError, match=r"404 .*may have moved.*--from"):
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert len(site.asked) == 1 and not (tmp_path / "a").exists()


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    with serving(Site({"/a.txt": BODY}, statuses=[503, 429])) as site:
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert (tmp_path / "a").read_bytes() == BODY and len(site.asked) == 3
    with (
        serving(Site({"/a.txt": BODY}, statuses=[503] * 3)) as site,
        pytest.raises(DataError, match="answers 503"),
    ):
        fetch(f"{site.address}/a.txt", tmp_path / "b", pause=0)


def test_a_server_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    with (
        serving(Site({"/a.txt": BODY}, hangs=True)) as site,
        pytest.raises(DataError, match="no byte came for 0.2 seconds"),
    ):
        fetch(f"{site.address}/a.txt", tmp_path / "a", timeout=0.2, pause=0)
    assert len(site.asked) == module.TRIES


def test_no_server_at_all(tmp_path: Path) -> None:
    with serving(Site()) as site:
        address = site.address
    with pytest.raises(DataError, match="refused"):
        fetch(f"{address}/a.txt", tmp_path / "a", pause=0)


def test_redirects_are_followed_within_the_web(tmp_path: Path) -> None:
    with serving(Site({"/b.txt": BODY}, redirects={"/a.txt": "/b.txt"}, cuts=[5000])) as site:
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
        assert (tmp_path / "a").read_bytes() == BODY
        assert ("/b.txt", "bytes=5000-") in site.asked  # resumed beyond the redirect too
        site.redirects["/c.txt"] = "/c.txt"
        with pytest.raises(DataError, match="redirect"):  # a circle ends
            fetch(f"{site.address}/c.txt", tmp_path / "c", pause=0)


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x"])
def test_redirects_never_leave_the_web(tmp_path: Path, target: str) -> None:
    with serving(Site(redirects={"/a.txt": target})) as site, pytest.raises(DataError):
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)
    assert not (tmp_path / "a").exists()


def test_redirects_never_lose_the_s_of_https() -> None:
    from email.message import Message
    from io import BytesIO
    from urllib.request import Request

    asked = Request("https://example.org/a")
    with pytest.raises(DataError, match="not safe to follow"):
        module._Redirects().redirect_request(
            asked,
            BytesIO(),
            302,
            "",
            Message(),  # type: ignore[arg-type]
            "http://example.org/a",
        )


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://host/a", "a.txt"])
def test_only_addresses_of_the_web(tmp_path: Path, address: str) -> None:
    with pytest.raises(MisuseError, match="https://"):
        fetch(address, tmp_path / "a")


def test_a_flood_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1000)
    with serving(Site({"/a.txt": BODY})) as site, pytest.raises(DataError, match="over 1,000 byt"):
        fetch(f"{site.address}/a.txt", tmp_path / "a", pause=0)


def test_a_full_disk_is_said_at_once_and_the_part_goes_on(tmp_path: Path) -> None:
    body = bytes(range(256)) * 4096  # a megabyte
    with mounted(tmp_path / "disk") as disk, serving(Site({"/set": body})) as site:
        part = disk / "part"
        filler = fill(disk)
        with filler.open("r+b") as file:
            file.truncate(filler.stat().st_size - 300_000)
        with pytest.raises(DataError, match=f"{part}: No space left on device; what has come is"):
            fetch(f"{site.address}/set", part)
        assert len(site.asked) == 1  # another try would not help
        filler.unlink()
        fetch(f"{site.address}/set", part)
        assert part.read_bytes() == body
        assert site.asked[-1][1].startswith("bytes=")  # from where it was
