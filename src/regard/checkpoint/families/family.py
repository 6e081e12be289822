"""What a family of published checkpoints is: a config ↔ a spec, names ↔ names, quirks; as data."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torch import Tensor

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.fields import Field, read_fields, write_fields
from regard.checkpoint.names import RenameRow
from regard.errors import CheckpointError, MisuseError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

ReadFields = Mapping[str, Any]  # fields of a spec, as far as they are known
# What a config of any family may ask for and no model of ours does.
EXPECTED = {"is_decoder": False, "add_cross_attention": False}


@dataclass(frozen=True)
class Family:
    """One family; its `rows` name tensors without `prefix`, which files may have or leave out."""

    name: str
    architectures: Mapping[str, str]  # head → the class that has it; the first for any other
    sign: str  # pattern of a name that only its tensors have, as `rows` write it
    fields: Mapping[str, Field]  # config key ↔ field of the spec
    fixed: Mapping[str, Any]  # fields that are alike in all of its models
    # the fields that take a thought, from the config, the names of the tensors, and `fields` read
    computed: Callable[[Config, frozenset[str], ReadFields], dict[str, Any]]
    written: Callable[[Spec], dict[str, Any]]  # config keys, beside those of `fields`
    rows: Callable[[Spec], Iterable[RenameRow]]
    never: str = ""  # pattern of names that its files do not have, and those of a like one do
    # config key → value, by which it is told from another family with the same sign
    told_by: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    heads: tuple[str, ...] = ()  # names that begin so belong to a head and never have the prefix
    expected: Mapping[str, Any] = field(default_factory=dict)  # config key → all that regard runs
    equal: Mapping[str, str] = field(default_factory=dict)  # config key → the key that it repeats
    harmless: tuple[str, ...] = ()  # config keys, beside those of every family
    dropped: Mapping[str, str] = field(default_factory=dict)  # pattern of a tensor's name → why
    # dropped tensor → the one that it must equal where a file has both
    copies: Mapping[str, str] = field(default_factory=dict)
    # dropped tensor → whether it holds what regard computes instead
    formulas: Mapping[str, Callable[[Tensor, Spec], bool]] = field(default_factory=dict)
    makes: str = "generate"  # what one with an encoder and a decoder is asked to do
    # head → fields of the spec, where training gives a model that head anew
    new_heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # the same function in the form that the family's files have
    exported: Callable[[Transformer], Transformer] = lambda model: model

    def spec(self, config: Config, names: frozenset[str]) -> Spec:
        """The spec of a config, in a file that has tensors of these names."""
        for key, value in {**EXPECTED, **self.expected}.items():
            config.expect(key, value)
        for key, other in self.equal.items():
            config.expect_equal(key, other)
        read = read_fields(config, self.fields)
        for key, entry in self.fields.items():
            if entry.ours in ("encoder_layers", "decoder_layers") and not read[entry.ours]:
                raise CheckpointError(f"{config.where}: {key}", got=0, expected="1 or more")
        return Spec(**{**self.fixed, **read, **self.computed(config, names, read)})

    def config(self, spec: Spec) -> dict[str, Any]:
        """The config of a spec."""
        usual = next(iter(self.architectures.values()))
        keys = write_fields(spec, self.fields)
        return {
            "architectures": [self.architectures.get(spec.head, usual)],
            "model_type": self.name,
            **keys,
            **{key: keys[other] for key, other in self.equal.items()},
            **self.written(spec),
        }

    def tasks(self, spec: Spec) -> tuple[str, ...]:
        """What a model with this spec can be asked for, beside its logits.

        encoder, words        fill, embed            BERT, DistilBERT, RoBERTa
        encoder, classifier   classify, embed
        encoder, word labels  tag, classify, embed
        encoder, spans        answer, embed
        encoder, no head      embed                  sentence encoders too
        images, classifier    see                    ViT
        decoder               complete               GPT-2, Llama
        encoder and decoder   generate or translate  T5, FLAN-T5 and BART, Marian
        """
        if spec.image_size:
            return ("see",) if spec.head == "classes" else ()
        if spec.decoder_layers:
            task = self.makes if spec.encoder_layers else "complete"
            return (task,) if spec.head == "tokens" else ()
        by_head = {
            "tokens": ("fill",),
            "classes": ("classify",),
            "labels": ("tag", "classify"),
            "spans": ("answer",),
        }
        return (*by_head.get(spec.head, ()), "embed")

    def is_told_by(self, names: Iterable[str]) -> bool:
        """Whether tensors of these names, as in a file, are one of its models."""
        plain = [self.table_name(name) for name in names]
        is_like = any(re.fullmatch(self.sign, name) for name in plain)
        return is_like and not any(re.fullmatch(self.never, name) for name in plain)

    @property
    def reads_images(self) -> bool:
        """Whether its models take pixels, and no text."""
        return any(entry.ours == "image_size" for entry in self.fields.values())

    def table_name(self, name: str) -> str:
        """A tensor's name as `rows` write it: no prefix, γ and β as weight and bias."""
        plain = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name))
        return plain.removeprefix(self.prefix)

    def published_name(self, name: str, spec: Spec) -> str:
        """The name with the prefix that the trunk has under a head."""
        alone = spec.head == "none" or name.startswith(self.heads)
        return name if not self.prefix or alone else self.prefix + name


def _refused(*_: object) -> NoReturn:
    raise MisuseError(
        "this encoder has a shape of regard's own, which no published family has; train one that "
        "starts from a published encoder folder (train.start_from), or keep the run"
    )


# Encoders of regard's own shape, which no published family has: kept in runs, not written out.
OWN = Family(
    "regard",
    architectures={"none": "regard"},
    sign=r"(encoder|decoder)\.layers\.\d+\.attention\.query\.weight",
    fields={},
    fixed={},
    computed=_refused,
    written=_refused,
    rows=_refused,
)
