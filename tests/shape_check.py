"""The checker of annotations while tests run: beartype, with int accepted where float is asked."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
