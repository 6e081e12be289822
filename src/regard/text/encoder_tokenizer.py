"""Our own tokenizer in the layout of published ones: the same pieces, a frame around each text.

    encoder   <s> text </s>            one text: the model answers at <s>
              <s> text </s> pair </s>  two, in segments 0 and 1
              <mask>                   stands for a word that is to be filled in
    decoder   <s> text                 what it goes on with; </s> is how it ends a text
    both      text </s>                as T5: the other text begins with <pad>
              <extra_id_0> …           stand for spans that were taken out (data/spans.py)

A decoder's text keeps every space and line break: that of a kind of bytes gets no space before it.

It is written in the layout of published tokenizers, so that whatever reads those reads it too.
"""

import json
from pathlib import Path
from typing import Any

from regard import atomic
from regard.text.special import TEXTS, Special
from regard.text.tokenizer import Tokenizer

MASK = "<mask>"
ROLES = {"cls": "<s>", "sep": "</s>", "mask": MASK} | TEXTS


def save_for_encoder(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json; the mask is one id more."""
    values: dict[str, Any] = json.loads(tokenizer.written())
    begin, end = ({"SpecialToken": {"id": ROLES[r], "type_id": 0}} for r in ("cls", "sep"))
    first, second = ({"Sequence": {"id": name, "type_id": n}} for n, name in enumerate("AB"))
    last = {"SpecialToken": {"id": ROLES["sep"], "type_id": 1}}
    special, ids = Special(), {"<s>": Special().bos, "</s>": Special().eos}
    assert tokenizer.special == special
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [begin, first, end],
        "pair": [begin, first, end, second, last],
        "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in ids.items()},
    }
    # The space before it belongs to the word that it hides.
    values["added_tokens"].append(_added(tokenizer.size, MASK, lstrip=True))
    _write(folder, values, ROLES)


def save_for_decoder(tokenizer: Tokenizer, folder: Path) -> None:
    """The same for a model that goes on with a text."""
    values: dict[str, Any] = json.loads(tokenizer.written())
    begin, id_ = TEXTS["bos"], Special().bos
    text = {"Sequence": {"id": "A", "type_id": 0}}
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": begin, "type_id": 0}}, text],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {begin: {"id": begin, "ids": [id_], "tokens": [begin]}},
    }
    if tokenizer.by_bytes:  # without the space before a text (text/kinds.py)
        values["normalizer"] = None
        values["decoder"] = values["decoder"]["decoders"][0]
    _write(folder, values, TEXTS)


def save_for_text_to_text(tokenizer: Tokenizer, folder: Path, sentinels: int) -> None:
    """The same for a model that makes a text of a text, with so many signs for holes."""
    values: dict[str, Any] = json.loads(tokenizer.written())
    text, id_ = TEXTS["eos"], Special().eos
    end = {"SpecialToken": {"id": text, "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first, end],
        "pair": [first, end, second, end],
        "special_tokens": {text: {"id": text, "ids": [id_], "tokens": [text]}},
    }
    values["added_tokens"] += [
        _added(tokenizer.size + n, sentinel(n), lstrip=True) for n in range(sentinels)
    ]
    _write(folder, values, TEXTS)


def sentinel(number: int) -> str:
    """The sign for a hole, as T5 writes it."""
    return f"<extra_id_{number}>"


def _added(id_: int, content: str, lstrip: bool) -> dict[str, Any]:
    """A special token, as the file has it."""
    return {
        "id": id_,
        "content": content,
        "single_word": False,
        "lstrip": lstrip,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _write(folder: Path, values: dict[str, Any], texts: dict[str, str]) -> None:
    text = json.dumps(values, ensure_ascii=False, indent=2)
    atomic.write_text(folder / "tokenizer.json", text + "\n")
    roles = {f"{role}_token": text for role, text in texts.items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **roles}
    atomic.write_text(folder / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n")
