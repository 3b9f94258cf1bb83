# Slipform: `make` sets up, runs the experiment and builds the book; `make test` tests. `make help` says more.
#
# A run lives in build/runs/RUN: settings.mk, results/, notebooks/ (executed), html/. What is expensive is kept in
# build/stages by what it depends on, so that a killed or repeated run continues where it was.

PYTHON        ?= python3
VENV          ?= .venv
JOBS          ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
TORCH_BACKEND ?=
RANKS         ?= 2
ARM           ?= hc_cement
UV_VERSION    := 0.13.9

BIN   := $(VENV)/bin
READY := $(VENV)/slipform.ready
UV    := $(or $(shell command -v uv 2>/dev/null),$(BIN)/uv)

# One thread a process: two spinning OpenMP threads on shared cores are slower than one.
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE
export GOMP_SPINCOUNT  ?= 0

# As many notebooks at a time as arms; -j on the command line says otherwise.
MAKEFLAGS += -j$(JOBS)

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all setup notebooks book reference train-ddp test bench clean help
all: book

# Which run: RUN and SET name it, and a named run remembers its parameters.

quote = '$(subst ','\'',$(1))'
slug   = $(shell printf %s $(call quote,$(1)) | tr -cs 'A-Za-z0-9._' '-' | cut -c1-60)-$(firstword $(shell printf %s $(call quote,$(1)) | cksum))

ifneq ($(origin RUN),undefined)
ifeq ($(origin SET)$(origin PROFILE),undefinedundefined)
# Asked of the shell: make would remember that a new run's file was not there, and not see it written below.
ifneq ($(shell test -f build/runs/$(RUN)/settings.mk && echo there),)
include build/runs/$(RUN)/settings.mk
endif
endif
endif
PROFILE ?= mini
SET     ?=
ifeq ($(origin RUN),undefined)
RUN := $(PROFILE)$(if $(SET),-$(call slug,$(SET)))
endif
ifneq ($(shell printf %s $(call quote,$(RUN)) | tr -d 'A-Za-z0-9._-'),)
$(error RUN=$(RUN) names the folder build/runs/RUN: letters, digits, '.', '_' and '-' only)
endif

FOLDER   := build/runs/$(RUN)
SETTINGS := $(FOLDER)/settings.mk
PARAMS   := notebooks/params/$(PROFILE).yml
ARMS     := $(wildcard notebooks/params/arms/*.yml)
RESULTS  := $(FOLDER)/results.done
SOURCES  := $(wildcard notebooks/[0-9]*.py)
EXECUTED := $(SOURCES:notebooks/%.py=$(FOLDER)/notebooks/%.ipynb)
HTML     := $(FOLDER)/html/index.html
SEEDS    := $(wildcard results/$(PROFILE)/seed-*/*.json)
STATED   := $(wildcard book/plan.yml book/reported.yml)
MEASURED := $(filter-out h200 quality evaluation report,$(basename $(notdir $(wildcard benchmarks/*.py))))
SPEEDS   := $(wildcard results/benchmarks/*.json results/plant/*.json results/plant/*/plant.json)
CODE     := $(shell find slipform_core -type f -not -name '*.pyc')
PAGES    := _config.yml $(shell find book -type f -not -name '*.pyc')

# Written while make reads this file and touched only on a change, so that `make -n` and `make -q` tell the truth.
ifneq ($(filter-out setup reference train-ddp test bench clean help,$(or $(MAKECMDGOALS),all)),)
ifeq ($(wildcard $(PARAMS)),)
$(error unknown profile $(PROFILE); the profiles are: $(sort $(basename $(notdir $(wildcard notebooks/params/*.yml)))))
endif
hash    := \#
escaped := $(subst $(hash),\$(hash),$(subst $$,$$$$,$(SET)))
said    := $(shell exec 2>&1; mkdir -p $(FOLDER) && cd $(FOLDER) && \
	printf 'PROFILE ?= %s\nSET ?= %s\n' $(PROFILE) $(call quote,$(escaped)) > settings.partial && \
	if cmp -s settings.partial settings.mk; then rm settings.partial; else mv settings.partial settings.mk; fi && \
	echo written)
ifneq ($(said),written)
$(error cannot write in $(FOLDER): $(said))
endif
endif

# Set-up.

setup: $(READY)

$(READY): requirements.txt constraints.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "slipform: there is no $(PYTHON); install Python 3.11 or say make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "slipform: Python 3.11 or newer is needed, $(PYTHON) is older; say make PYTHON=python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV): about 2 GB, a minute or two."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@test -x $(UV) || $(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	$(UV) pip install --python $(BIN)/python $(addprefix --find-links ,$(PIP_FIND_LINKS)) \
		$(addprefix --torch-backend ,$(TORCH_BACKEND)) -r requirements.txt
	$(UV) pip install --python $(BIN)/python --no-deps -e .
	@touch $@

# The run, its notebooks, its book.

$(RESULTS): $(READY) $(SETTINGS) $(PARAMS) $(ARMS) $(CODE)
	@rm -rf $(FOLDER)/results
	$(BIN)/slipform run --profile $(PROFILE) --settings $(call quote,$(SET)) --run $(RUN) --jobs $(JOBS)
	@touch $@

# All arms with several seeds, for the results that are committed. Killed, it goes on where it was.
reference: $(READY)
	$(BIN)/slipform reference --profile $(PROFILE) --settings $(call quote,$(SET)) --jobs $(JOBS)

# One arm, trained by RANKS processes together (DistributedDataParallel); a rank that dies is started again.
train-ddp: $(READY)
	$(BIN)/torchrun --standalone --nproc-per-node $(RANKS) --max-restarts 3 -m -- slipform_core \
		train $(ARM) --profile $(PROFILE) --settings $(call quote,$(SET)) --run $(RUN)

notebooks: $(EXECUTED)

$(FOLDER)/notebooks/%.ipynb: notebooks/%.py $(RESULTS) $(SEEDS) $(SPEEDS) $(STATED)
	@$(BIN)/slipform notebook $< --out $@ -p run $(FOLDER) \
		$(addprefix --needs ,$(FOLDER)/results $(wildcard results/$(PROFILE) results/benchmarks results/plant) $(STATED))

book: $(HTML)

# How to say it again, for the pages: only what differs from a plain `make`.
again = make$(if $(filter-out $(PROFILE),$(RUN))$(SET), RUN=$(RUN))$(if \
	$(filter-out mini,$(PROFILE)), PROFILE=$(PROFILE))$(if $(SET), SET="$(SET)")

# Built afresh each time: an incremental build would not repeat the warning that stopped the build before.
$(HTML): $(PAGES) $(EXECUTED) $(SEEDS)
	@echo "Building the book of $(FOLDER)"
	@rm -rf $(FOLDER)/src $(FOLDER)/_build $(FOLDER)/html
	@mkdir -p $(FOLDER)/src/notebooks
	@cp -R book $(FOLDER)/src/
	@cp $(EXECUTED) $(FOLDER)/src/notebooks/
	@SLIPFORM_RUN=$(FOLDER) SLIPFORM_AGAIN=$(call quote,$(again)) \
		$(BIN)/jupyter-book build $(FOLDER)/src --path-output $(FOLDER) \
		--config _config.yml --toc book/_toc.yml -W --keep-going --quiet > /dev/null
	@mv $(FOLDER)/_build/html $(FOLDER)/html
	@echo && echo "The book stands. Open it: file://$(CURDIR)/$@"

# Tests and the rest.

test: $(READY)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(READY)
	@for name in $(MEASURED); do echo "== benchmarks/$$name.py"; \
		OMP_NUM_THREADS=1 $(BIN)/python benchmarks/$$name.py --out results/benchmarks/$$name.json || exit 1; done

clean:
	rm -rf build

help:
	@echo 'make                      set up .venv, run the experiment, build the book'
	@echo 'make test                 set up .venv, test'
	@echo 'make reference            run all arms with several seeds into results/PROFILE: hours'
	@echo 'make train-ddp RANKS=2    train the arm ARM=hc_cement with several processes'
	@echo 'make clean                remove build/, and all that you put there'
	@echo 'make setup | notebooks | book | bench | help'
	@echo
	@echo 'RUN=name                  the run in build/runs/name; it remembers its PROFILE and SET'
	@echo 'PROFILE=mini              a file of notebooks/params: $(sort $(basename $(notdir $(wildcard notebooks/params/*.yml))))'
	@echo 'SET="train.steps=400"     other parameters, several with spaces between them'
	@echo 'JOBS=$(JOBS)                    arms trained, and notebooks executed, at a time'
	@echo 'PYTHON=python3 VENV=.venv TORCH_BACKEND=cpu|auto|cu128 (passed to uv)'
