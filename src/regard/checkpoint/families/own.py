"""Encoders of regard's own shape, which no published family has: kept in runs, not written out."""

from typing import NoReturn

from regard.checkpoint.families.family import Family
from regard.errors import MisuseError


def _refused(*_: object) -> NoReturn:
    raise MisuseError(
        "this encoder has a shape of regard's own, which no published family has; train one that "
        "starts from a BERT or DistilBERT folder (train.start_from), or keep the run"
    )


OWN = Family(
    "regard",
    architectures={"none": "regard"},
    fields={},
    fixed={},
    computed=_refused,
    written=_refused,
    rows=_refused,
)
