"""DATA SETS BY NAME: what `regard data` lists and fetches, and what `data.set` of a recipe means.

table.py    sets.toml, read and checked
find.py     name → files on this machine
fetch.py    address → file, resumed where it was cut off
make.py     download → content: unpacked, split or joined
obtain.py   all of these: a set, whole and checked, into the cache
"""
