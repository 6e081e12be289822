"""Pictures with labels, out of folders, tables, IDX and .npz; contradictions are refused."""

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import drawn
from drawn import idx
from regard.data.images import (
    LabelledPicture,
    PicturePlace,
    PictureReport,
    class_order,
    read_pictures,
)
from regard.data.picture_arrays import read_npz
from regard.errors import DataError, MisuseError


def read(path: Path, channels: int = 1, **how: Any) -> tuple[list[LabelledPicture], PictureReport]:
    report = PictureReport()
    return list(read_pictures(PicturePlace(path, channels, **how), report)), report


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 12)
    (folder / "square/more").mkdir()
    Image.new("RGB", (3, 5), "red").save(folder / "square/more/red.JPG")
    (folder / "down/notes.txt").write_text("x")
    (folder / ".hidden").mkdir()
    rows, report = read(folder)
    assert len(rows) == 13 and dict(report.kept) == {"across": 4, "down": 4, "square": 5}
    pixels, labels = drawn.pictures(12)
    across = [row for row in rows if row.label == "across"]
    wanted = [p for p, label in zip(pixels, labels, strict=True) if label == "across"]
    assert all(np.array_equal(a.colours[:, :, 0], b) for a, b in zip(across, wanted, strict=True))
    assert rows[-1].name == "square/more/red.JPG" and rows[-1].colours.shape == (5, 3, 1)
    said = report.lines(class_order(set(report.kept), ()))
    assert said[0].endswith("13 pictures with 3 labels: across 4, down 4, square 5.")
    assert said[1] == "1 file of other kinds not looked at."


def test_bad_files_of_a_folder_are_named_and_left_out(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 9)
    (folder / "down/x.png").write_bytes(b"\x89PNG\r\n\x1a\nx")
    rows, report = read(folder)
    assert len(rows) == 9 and [name for name, _ in report.left_out] == ["down/x.png"]
    assert "1 file left out:" in report.lines(drawn.LABELS)
    for n in range(12):
        (folder / f"down/x{n}.png").write_bytes(b"")
    with pytest.raises(DataError, match="more than half of its pictures cannot be read"):
        read(folder)


def test_a_class_with_one_picture_and_one_with_none(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 4)
    (folder / "single").mkdir()
    Image.new("L", (1, 1), 9).save(folder / "single/a.png")
    assert read(folder)[1].kept["single"] == 1
    (folder / "none").mkdir()
    with pytest.raises(DataError, match="none: a class without a picture"):
        read(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MisuseError, match="has no folders in it"):
        read(tmp_path / "empty")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_a_table_of_files(ending: str, tmp_path: Path) -> None:
    pixels, labels = drawn.pictures(6)
    names = [f"{n}.png" for n in range(6)]
    for name, picture in zip(names, pixels, strict=True):
        Image.fromarray(picture).save(tmp_path / name)
    between = "\t" if ending == ".tsv" else ","
    text = "".join(f"{n}{between}{label}\n" for n, label in zip(names, labels, strict=True))
    text = f"file{between}label\n{text}gone.png{between}down\n3.png{between}\n"
    if ending == ".jsonl":
        rows = [f'{{"file": "{n}", "label": "{e}"}}\n' for n, e in zip(names, labels, strict=True)]
        text = "".join(rows) + '{"file": "gone.png", "label": "down"}\n{"file": "3.png"}\n'
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    got, report = read(path)
    assert [row.label for row in got] == labels and len(report.left_out) == 2
    assert np.array_equal(got[4].colours[:, :, 0], pixels[4])
    assert "no such file" in report.left_out[0][1] and "no label" in report.left_out[1][1]


def test_a_table_of_pixels(tmp_path: Path) -> None:
    pixels, labels = drawn.pictures(30)
    names = ["label", *(f"pixel{n}" for n in range(144))]
    lines = [
        ",".join([label, *map(str, p.ravel())]) for p, label in zip(pixels, labels, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    got, _ = read(tmp_path / "t.csv")
    assert [row.label for row in got] == labels
    assert np.array_equal(got[7].colours[:, :, 0], pixels[7]) and got[7].name == "t.csv #8"
    bare = "\n".join(",".join(map(str, [*(p.ravel() // 16), 3])) for p in pixels)
    (tmp_path / "u.csv").write_text(bare + "\n")
    got, _ = read(tmp_path / "u.csv", label="145", white=16, names=("a", "b", "c", "d"))
    assert {row.label for row in got} == {"d"} and got[0].colours.max() == round(
        230 // 16 * 255 / 16
    )
    (tmp_path / "v.csv").write_text("\n".join(",".join(["1"] * 21) for _ in range(5)) + "\n")
    with pytest.raises(DataError, match="20 pixels"):
        read(tmp_path / "v.csv", label="1")
    (tmp_path / "w.csv").write_text("\n".join(",".join(["a"] * 17) for _ in range(5)) + "\n")
    with pytest.raises(DataError, match="a pixel that is no number"):
        read(tmp_path / "w.csv", label="1")


def test_idx_with_its_labels_beside_it(tmp_path: Path) -> None:
    pixels, _ = drawn.pictures(5)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(pixels))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx([0, 1, 2, 1, 0]))
    got, _ = read(tmp_path / "train-images-idx3-ubyte")
    assert [row.label for row in got] == ["0", "1", "2", "1", "0"]
    assert np.array_equal(got[3].colours[:, :, 0], pixels[3])
    named, _ = read(tmp_path / "train-images-idx3-ubyte", names=("x", "y", "z"))
    assert [row.label for row in named] == ["x", "y", "z", "y", "x"]
    assert class_order({"z", "x", "y"}, ("z", "y", "x")) == ("z", "y", "x")
    with pytest.raises(DataError, match="label '2'"):
        read(tmp_path / "train-images-idx3-ubyte", names=("x", "y"))
    packed = tmp_path / "gz"
    packed.mkdir()
    for file in tmp_path.glob("train-*"):
        (packed / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    again, _ = read(packed / "train-images-idx3-ubyte.gz", 3)
    assert np.array_equal(again[3].colours[:, :, 1], pixels[3])


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (idx(np.zeros((3, 4, 4)))[:-1], idx([0, 1, 2]), "ends in the middle"),
        (idx(np.zeros((3, 4, 4))) + b"x", idx([0, 1, 2]), "goes on after the 3"),
        (idx(np.zeros((3, 4, 4))), idx([0, 1]), "2 labels for 3 pictures"),
        (idx(np.zeros((3, 4, 4))), idx(np.zeros((3, 1))), "2 dimensions"),
        (b"\0\0\x0d\3" + bytes(12), idx([0]), "type 13"),
        (b"\0\0\x08\3" + (2**31).to_bytes(4, "big") * 3, idx([0]), "2,147,483,648 rows"),
        (b"\0\0\x08\3\0\0\0\1" + (2**31).to_bytes(4, "big") * 2, idx([0]), "pixels"),
        (b"", idx([0]), "ends in the middle"),
    ],
    ids=["short", "long", "few labels", "square labels", "floats", "rows", "a bomb", "empty"],
)
def test_idx_that_contradicts_itself(
    images: bytes, labels: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "a-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "a-images-idx3-ubyte")


def test_idx_without_labels_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx(np.zeros((3, 4, 4)))))
    with pytest.raises(DataError, match=r"labels-idx1-ubyte\.gz: there is no such file"):
        read(path)
    (tmp_path / "a-labels-idx1-ubyte.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="labels-idx1-ubyte.gz: cannot be read"):
        read(path)


def test_npz_of_arrays(tmp_path: Path) -> None:
    pixels, labels = drawn.pictures(6)
    np.savez_compressed(tmp_path / "a.npz", images=pixels, labels=np.array(labels))
    got, _ = read(tmp_path / "a.npz")
    assert [row.label for row in got] == labels
    assert np.array_equal(got[2].colours[:, :, 0], pixels[2])
    np.savez(tmp_path / "b.npz", x_train=pixels / 255, y_train=np.arange(6)[:, None])
    got, _ = read(tmp_path / "b.npz", white=1)
    assert np.array_equal(got[5].colours[:, :, 0], pixels[5]) and got[5].label == "5"
    with pytest.raises(DataError, match="fractions up to"):
        read(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", photos=np.stack([pixels] * 3, axis=3), what=np.arange(6))
    assert read(tmp_path / "c.npz", image="photos", label="what")[0][0].colours.shape == (12, 12, 1)
    with pytest.raises(MisuseError, match="name the array of images in the recipe: data.image"):
        read(tmp_path / "c.npz")


def test_npz_that_contradicts_itself(tmp_path: Path) -> None:
    pixels, labels = drawn.pictures(4)
    fine = {"images": pixels, "labels": np.arange(4)}
    wrong = [
        ({**fine, "labels": np.arange(3)}, "3 labels for 4 pictures"),
        ({**fine, "labels": np.arange(4) / 2}, "a row of whole numbers or of words"),
        ({**fine, "images": pixels[0]}, "expected .*pictures, height, width"),
        ({**fine, "images": np.asfortranarray(pixels)}, "stored by columns"),
        ({**fine, "labels": np.array(labels, dtype=object)}, "no objects"),
        ({**fine, "images": pixels.astype(np.int64) - 3}, "pixels from -3"),
        ({**fine, "images": pixels[:0]}, "rows, none empty"),
    ]
    for number, (arrays, message) in enumerate(wrong):
        path = tmp_path / f"{number}.npz"
        np.savez(path, **arrays)
        with pytest.raises(DataError, match=message):
            read(path)
    (tmp_path / "z.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "z.npz")


def test_a_header_that_claims_more_than_there_is(tmp_path: Path) -> None:
    """Nothing is allocated by what a header says: four pictures of 8 GB are a few bytes here."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "|u1", "fortran_order": False, "shape": (4, 50_000, 40_000)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("images.npy", head.getvalue() + b"x")
        labels = io.BytesIO()
        np.save(labels, np.arange(4))
        archive.writestr("labels.npy", labels.getvalue())
    with pytest.raises(DataError, match="are not what shape"):
        list(read_npz(tmp_path / "a.npz"))


def test_other_places(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read(tmp_path / "none.npz")
    (tmp_path / "a.zip").write_bytes(b"x")
    with pytest.raises(MisuseError, match="no pictures that regard reads"):
        read(tmp_path / "a.zip")
