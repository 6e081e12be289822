# regard: the two commands are `make demo` and `make test`; both set up everything they need.
# TORCH_INDEX: PyTorch's index of CPU builds, for machines where pip would choose a CUDA build:
#     make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

windows := $(filter Windows_NT,$(OS))
PYTHON ?= $(if $(windows),python,python3)
VENV ?= .venv
TORCH_INDEX ?=
# Where data sets lie, if not where `regard data NAME` puts them; CI has them beside the checkout.
REGARD_DATA ?= $(abspath $(wildcard ../shared/data))
export REGARD_DATA
# A new folder each time: nothing overwrites an earlier run.
recipes := multi30k-tiny multi30k-quick sst2 sst2-distil stsb phrasebook-fill phrasebook-tag phrasebook-tasks bench-dialogue bench-summarize bench-see bench-parse
RUN := $(or $(RUN),runs/$(firstword $(filter $(recipes),$(MAKECMDGOALS)) run)-$(shell date +%Y%m%d-%H%M%S))

bin := $(VENV)/$(if $(windows),Scripts,bin)
index := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
pip := $(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(index)

.PHONY: help browser demo demo-hi models phrasebook dialogue multi30k-tiny multi30k-quick sst2 sst2-distil stsb phrasebook-fill phrasebook-tag phrasebook-tasks dist docs reference refresh-docs bench-decode bench-train bench-embed bench-search bench-complete bench-complete-decode bench-gguf bench-wikitext2 bench-tasks bench-answer bench-dialogue bench-summarize bench-few-labels bench-attacks bench-serve bench-see bench-parse test test-long check format clean

help:
	@echo "make demo       train English→German on the phrasebook, evaluate, translate, show attention"
	@echo "make demo-hi    the same for English→Hindi; draws the dot grid of the ice-cream sentence"
	@echo "make models     train the models that travel inside the package, measure and pack them"
	@echo "make phrasebook let the grammar in tools/grammar make the phrasebook's pairs again"
	@echo "make dialogue   the same for the conversations of the data set dialogue"
	@echo "make multi30k-quick, multi30k-tiny  train on Multi30k (15 minutes, 2 hours) and score; first: regard data multi30k"
	@echo "make sst2       fine-tune a sentence encoder on SST-2 with three seeds, beside its baselines"
	@echo "make sst2-distil TEACHER=…  a student with half the layers of one of those, measured beside it"
	@echo "make stsb       fine-tune a sentence encoder on STS-B; Spearman before and after"
	@echo "make phrasebook-fill, phrasebook-tag, phrasebook-tasks  train on the phrasebook and score"
	@echo "make dist       build the wheel and the source archive into dist/"
	@echo "make docs       build the pages of docs/ as a site into site/"
	@echo "make reference  write docs/reference/recipe.md and python.md from the code"
	@echo "make refresh-docs  run the commands of the pages again; RUNS=folder: also those that need runs; TRAIN=yes: makes them"
	@echo "make bench-decode RUN=…  decoding speed beside CTranslate2 and transformers (needs Multi30k)"
	@echo "make bench-complete-decode  speed of continuations beside transformers and CTranslate2"
	@echo "make bench-gguf FILE=…  a GGUF file beside llama.cpp: tokens/s and memory"
	@echo "make bench-train  training speed beside torch.nn.Transformer and transformers (needs Multi30k)"
	@echo "make bench-embed  embedding speed beside sentence-transformers (needs STS-B and Multi30k)"
	@echo "make bench-search  a million vectors on disk: milliseconds a query, recall"
	@echo "make bench-tasks  one model for five tasks beside a model for each (trains for an hour or two)"
	@echo "make bench-answer  answers from 100 to 900 questions, three seeds, beside the best-overlap sentence (trains for hours)"
	@echo "make bench-dialogue  train recipe dialogue (or RUN=…), exact answers beside a nearest neighbour"
	@echo "make bench-summarize  train recipe scitldr (or RUN=…), ROUGE beside the first sentence, TextRank, minilm"
	@echo "make bench-parse  train recipe treebank (or RUN=…), F1 of trees beside right-branching and a counted grammar"
	@echo "make bench-few-labels  SST-2 from 8, 16, 64 labels of each, beside fine-tuning (SETFIT=python with setfit)"
	@echo "make bench-attacks  kills, races and damaged files: how many are survived, noticed, wrong"
	@echo "make bench-serve  a server under load, beside the offline engine and other servers (needs Multi30k)"
	@echo "make bench-see   train recipe digits (or RUN=… SET=…), beside logistic regression and a small CNN of equal time"
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

# The fast engines are what a user would install, so the demo has them too.
$(VENV)/.demo: $(VENV)/.train
	@echo "Installing the fast engines …"
	$(pip) --editable ".[train,fast]"
	@touch $@

# RUN=… names another folder than runs/demo; an earlier demo is never overwritten.
demo: $(VENV)/.demo
	$(bin)/regard demo $(if $(filter-out file,$(origin RUN)),--run $(RUN))
	@echo "The command: '. $(bin)/activate', then 'regard …'; or $(bin)/regard"

demo-hi: $(VENV)/.demo
	$(bin)/regard demo --language hi $(if $(filter-out file,$(origin RUN)),--run $(RUN))
	@echo "The command: '. $(bin)/activate', then 'regard …'; or $(bin)/regard"

# Train the models that travel inside the package, measure them, pack them into src/regard/models.
models: $(VENV)/.demo
	$(bin)/python tools/make_models.py

# The pairs of the phrasebook that travel inside the package, after a change of tools/grammar.
phrasebook: $(VENV)/.train
	$(bin)/python tools/make_phrasebook.py

# Then its sizes and sums in src/regard/datasets/sets.toml: tests/data/test_dialogue.py says them.
dialogue: $(VENV)/.train
	$(bin)/python tools/make_dialogue.py

# The folder of a data set that is here; a set that is not is fetched by `regard data NAME`.
folder = $$($(bin)/regard data $(1) --path)

multi30k-tiny: $(VENV)/.bench
	$(bin)/regard train multi30k-tiny --run $(RUN)
	$(bin)/regard evaluate $(RUN) --set multi30k-tok --tokenize none --output $(RUN)/test.de
	@echo "The same on raw text, with capitals and without:"
	$(bin)/python tools/raw_bleu.py $(RUN)/test.de "$(call folder,multi30k)/test_2016_flickr.de"

multi30k-quick: $(VENV)/.train
	$(bin)/regard train multi30k-quick --run $(RUN)
	$(bin)/regard evaluate $(RUN) --set multi30k
	head -5 "$(call folder,multi30k)/test_2016_flickr.en" | $(bin)/regard translate $(RUN) --with-source

TEACHER ?= runs/sst2-1

sst2: $(VENV)/.bench
	for seed in 1 2 3; do \
	  $(bin)/regard train sst2 train.seed=$$seed --run $(RUN)-$$seed || exit 1; done
	$(bin)/regard train sst2-scratch --run $(RUN)-scratch
	$(bin)/regard evaluate $(RUN)-1 --set sst2
	$(bin)/python bench/classify.py "$(call folder,sst2)/train.tsv" "$(call folder,sst2)/dev.tsv" --scratch $(RUN)-scratch \
	  --run $(RUN)-1 --run $(RUN)-2 --run $(RUN)-3

# TEACHER: one of the runs that `make sst2` made.
sst2-distil: $(VENV)/.bench
	$(bin)/regard train sst2-distil train.start_from=$(TEACHER) --run $(RUN)
	$(bin)/python bench/distil.py $(TEACHER) $(RUN) "$(call folder,sst2)/dev.tsv"

stsb: $(VENV)/.bench
	$(bin)/regard similar minilm --set stsb
	$(bin)/regard train stsb --run $(RUN)
	$(bin)/regard similar $(RUN) --set stsb

phrasebook-fill phrasebook-tag phrasebook-tasks: $(VENV)/.bench
	$(bin)/regard train $@ --run $(RUN)
	$(bin)/regard evaluate $(RUN)

# What a package index is given: setup.py says where its links lead.
dist: $(VENV)/.dev
	$(bin)/python -m build
	@echo "dist/ holds the wheel and the source archive"

docs: $(VENV)/.dev
	$(bin)/mkdocs build --quiet
	@echo "The site is in site/: open site/index.html"

# The pages of docs/reference that are read out of the code; tests/test_reference.py compares them.
reference: $(VENV)/.dev
	$(bin)/python tools/make_reference.py

# docs/manifest.toml says what each page needs. RUNS: a folder with runs, TRAIN=yes: make those it lacks; PAGES: only these.
refresh-docs: $(VENV)/.dev
	$(bin)/python tools/refresh_docs.py $(if $(RUNS),--runs $(RUNS)) $(if $(TRAIN),--train) $(PAGES)

# RUN: a run that was trained on Multi30k; without it the sizes small and base, both with random weights.
bench-decode: $(VENV)/.bench
	$(bin)/python bench/decode.py $(if $(filter-out file,$(origin RUN)),--run $(RUN) --preset base) $(BENCH)

# The size of GPT-2: make bench-complete-decode BENCH="--size gpt2"
bench-complete-decode: $(VENV)/.bench
	$(bin)/python bench/complete_decode.py $(BENCH)

# llama.cpp in a place of its own: make bench-gguf FILE=… BENCH="--python llama/bin/python"
bench-gguf: $(VENV)/.bench
	$(bin)/python bench/gguf_speed.py $(FILE) $(BENCH)

# All of tiny, small and base; of these only some: make bench-train BENCH="--preset small"
bench-train: $(VENV)/.bench
	$(bin)/python bench/train.py $(BENCH)

# Shakespeare beside transformers' loop; for ten minutes: make bench-complete BENCH="--minutes 10 --rounds 1"
bench-complete: $(VENV)/.bench
	$(bin)/python bench/complete.py $(BENCH)

# WikiText-2 beside a trigram of irstlm (apt install irstlm); the run is trained once.
bench-wikitext2: $(VENV)/.bench
	test -f runs/wikitext2/model.safetensors || $(bin)/regard train wikitext2
	$(bin)/python bench/trigram.py runs/wikitext2 $(BENCH)

bench-embed: $(VENV)/.bench
	$(bin)/python bench/embed.py $(BENCH)

bench-search: $(VENV)/.bench
	$(bin)/python bench/search.py $(BENCH)

# Trains what runs/bench-tasks lacks; a shorter one: make bench-tasks BENCH="--runs runs/short --steps 600 --short 100 --pretrain 300"
bench-tasks: $(VENV)/.bench
	$(bin)/python bench/tasks.py $(BENCH)

# Trains what runs/bench-answer lacks; a shorter one: make bench-answer BENCH="--runs runs/short --sizes 100 --seeds 1 --steps 100"
bench-answer: $(VENV)/.bench
	$(bin)/python bench/answer.py $(BENCH)

# RUN: a run of recipe dialogue; without it one is trained first.
bench-dialogue: $(VENV)/.bench
	$(if $(filter-out file,$(origin RUN)),,$(bin)/regard train dialogue --run $(RUN))
	$(bin)/python bench/dialogue.py $(RUN) $(BENCH)

# RUN: a run of recipe scitldr; without it one is trained first.
bench-summarize: $(VENV)/.bench
	$(if $(filter-out file,$(origin RUN)),,$(bin)/regard train scitldr --run $(RUN))
	$(bin)/python bench/summarize.py --run $(RUN) $(BENCH)

# RUN: a run of recipe treebank; without it one is trained first.
bench-parse: $(VENV)/.bench
	$(if $(filter-out file,$(origin RUN)),,$(bin)/regard train treebank --run $(RUN))
	$(bin)/python bench/parse.py --run $(RUN) $(BENCH)

# SETFIT: the Python of an environment with the library setfit, which is measured beside ours.
bench-few-labels: $(VENV)/.bench
	$(bin)/python bench/few_labels.py $(if $(SETFIT),--setfit $(SETFIT)) $(BENCH)

# How often: make bench-attacks BENCH="--kills 12 --races 4 --damages 30"
bench-attacks: $(VENV)/.bench
	$(bin)/python bench/attacks.py $(BENCH)

# Of a trained run: make bench-serve BENCH="--run runs/small"; fewer loads: BENCH="--only offline serve --seconds 5"
bench-serve: $(VENV)/.bench
	$(bin)/python bench/serve.py $(BENCH)

# RUN, SET: a run of objective "see" and the data set it is judged by; without them recipe digits is trained first.
bench-see: $(VENV)/.bench
	$(if $(filter-out file,$(origin RUN)),,$(bin)/regard train digits --run $(RUN))
	$(bin)/python bench/see.py $(RUN) --set $(or $(SET),digits) $(BENCH)

# A process for each core, each with one thread; a file's tests stay together and share what they made. Files with a few long
# tests come first (tests/conftest.py): at the end, one process would wait for the other.
test: check browser
	OMP_NUM_THREADS=1 $(bin)/python -m pytest -m "not long" -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# The server's page is tried in Debian's chromium. CI installs it; elsewhere that is the reader's to do.
browser:
	@command -v chromium > /dev/null || { [ "$(CI)" = true ] && [ "$$(id -u)" = 0 ] && apt-get update -qq > /dev/null \
	  && apt-get install -y -qq chromium fonts-noto-core > /dev/null; } \
	  || echo "No chromium here: the tests of the server's page in a browser are skipped (apt install chromium)"

test-long: $(VENV)/.dev
	$(bin)/python -m pytest -m long

code := src tests tools bench setup.py

check: $(VENV)/.dev
	$(bin)/ruff format --check $(code)
	$(bin)/ruff check $(code)
	$(bin)/mypy
	$(bin)/lint-imports

format: $(VENV)/.dev
	$(bin)/ruff format $(code)
	$(bin)/ruff check --fix $(code)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache src/regard.egg-info build dist
