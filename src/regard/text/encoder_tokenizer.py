"""Our own tokenizer for an encoder: the same pieces, and a frame around each text.

    <s> text </s>            one text: the model answers at <s>
    <s> text </s> pair </s>  two, in segments 0 and 1
    <mask>                   stands for a word that is to be filled in

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
    values["added_tokens"].append(
        {
            "id": tokenizer.size,
            "content": MASK,
            "single_word": False,
            "lstrip": True,  # the space before it belongs to the word that it hides
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    )
    text = json.dumps(values, ensure_ascii=False, indent=2)
    atomic.write_text(folder / "tokenizer.json", text + "\n")
    roles = {f"{role}_token": text for role, text in ROLES.items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **roles}
    atomic.write_text(folder / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n")
