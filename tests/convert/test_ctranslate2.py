"""`regard convert --to ctranslate2`: the library opens the folder by itself and agrees with us."""

import re
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
import transformers
from click.testing import CliRunner
from tokenizers import Tokenizer

import folders
from regard.api.load import load
from regard.cli.main import group
from regard.convert import ctranslate2 as module
from regard.convert.convert import convert
from regard.decode.engine import Frame
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, MisuseError

pytestmark = pytest.mark.needs("ctranslate2", "int8")
TEXTS = ["red cat", "one two three", "the blue dog", "sea"]


def test_a_run(toy_run: Path, tmp_path: Path) -> None:
    """With the library and its tokenizer.json alone, as the documentation says."""
    conversion = convert(toy_run, tmp_path / "m", "ctranslate2")
    assert {"model.bin", "tokenizer.json", "regard.json"} <= set(conversion.files)
    tokenizer = Tokenizer.from_file(str(tmp_path / "m/tokenizer.json"))
    translator = ctranslate2.Translator(str(tmp_path / "m"), device="cpu", intra_threads=1)
    rows = [tokenizer.encode(text) for text in TEXTS]
    translations = translator.translate_batch([row.tokens for row in rows], beam_size=1)
    ids = [tuple(tokenizer.token_to_id(t) for t in each.hypotheses[0]) for each in translations]
    model = load(toy_run, "cpu", engine="torch")
    engine = TorchEngine(model.transformer, Frame(0, 1, 2))
    wanted = engine.submit([row.ids for row in rows], DecodingOptions(beam=1, max_length=256))()
    engine.close()
    assert ids == [best[0].ids for best in wanted]


def test_the_python_of_the_page_runs(
    repository: Path,
    toy_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    convert(toy_run, tmp_path / "demo-fast", "ctranslate2", precision="int8")
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs/convert.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(snippet, "convert.md", "exec"), names)
    assert capsys.readouterr().out == names["tokenizer"].decode(names["ids"]) + "\n"
    assert names["source"][-1] == "</s>" and len(names["ids"]) > 3


def test_a_published_model(tmp_path: Path) -> None:
    twin = folders.marian(tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "m", "ctranslate2")
    assert {"source.spm", "target.spm", "vocab.json"} <= {
        p.name for p in (tmp_path / "m").iterdir()
    }
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "m")
    translator = ctranslate2.Translator(str(tmp_path / "m"), device="cpu", intra_threads=1)
    source = tokenizer("the cat sat on the mat.").input_ids
    target = tokenizer("one red house is not good.").input_ids[:-1]
    spelled = [tokenizer.convert_ids_to_tokens(ids) for ids in (source, target)]
    (score,) = translator.score_batch(spelled[:1], spelled[1:])
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    with torch.no_grad():
        start = torch.tensor([[pad, *target]])
        logits = twin(torch.tensor([source]), decoder_input_ids=start).logits[0]
    logits[:, pad] = -torch.inf  # its settings say that it is never output
    log_p = logits.log_softmax(dim=-1)
    expected = [float(log_p[n, i]) for n, i in enumerate([*target, end])]
    assert len(expected) > 6 and score.log_probs == pytest.approx(expected, abs=1e-4)


def test_the_command_with_a_shortlist(toy_run: Path, tmp_path: Path) -> None:
    command = ["convert", str(toy_run), str(tmp_path / "m"), "--to", "ctranslate2"]
    said = CliRunner().invoke(group, [*command, "--precision", "int8", "--shortlist"])
    assert said.exit_code == 0, said
    assert "  vmap.txt" in said.output and "Read back by ctranslate2" in said.output
    again = CliRunner().invoke(group, command)
    assert isinstance(again.exception, MisuseError) and "never overwrites" in str(again.exception)


def test_what_it_cannot_do(toy_run: Path, tmp_path: Path) -> None:
    folders.marian(tmp_path / "marian")
    folders.gpt2(tmp_path / "gpt2")
    with pytest.raises(MisuseError, match="has no corpus to learn it from"):
        convert(tmp_path / "marian", tmp_path / "m", "ctranslate2", shortlist=True)
    with pytest.raises(CheckpointError, match="only one of encoder and decoder"):
        convert(tmp_path / "gpt2", tmp_path / "m", "ctranslate2")
    convert(tmp_path / "marian", tmp_path / "fast", "ctranslate2")
    with pytest.raises(CheckpointError, match="a folder of the ctranslate2 library"):
        load(tmp_path / "fast")
    with pytest.raises(MisuseError, match="expected none without --to ctranslate2 or --to gguf"):
        convert(toy_run, tmp_path / "m", "native", precision="int8")
    assert not (tmp_path / "m").exists()


def test_a_difference_is_an_error(
    toy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.CLOSE, "fp32", 1e-12)
    with pytest.raises(CheckpointError, match=r"differs by .* nothing was written"):
        convert(toy_run, tmp_path / "m", "ctranslate2")
    assert not (tmp_path / "m").exists()
