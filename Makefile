# The targets that people use are explained by `make help`.
SHELL := /bin/bash
.DELETE_ON_ERROR:
# Modules are compiled once: a fresh process that imports Triton and torch else takes twice its time.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help test test-fast test-between tenstorrent-headers demo lint format clean

# Both ends of the supported range of Triton.
OLDEST := 3.6.0
NEWEST := 3.9.0
BETWEEN := 3.7.1 3.8.0
JOBS ?= 2
PYTEST ?=

help:
	@echo 'make test   set up one environment per Triton version ($(OLDEST) and $(NEWEST)), check style and types, run all tests'
	@echo 'make test-fast   a smoke of every room on Triton $(OLDEST), in less than three minutes'
	@echo 'make test-between   the tests that touch Triton on $(BETWEEN) too: some 10 minutes each'
	@echo 'make tenstorrent-headers   kernels for Tenstorrent against the headers and firmware in the wheel ttnn (103 MB, once)'
	@echo 'make demo   set up an environment and run samples/demo.py, on the GPU when there is one, else on the CPU'
	@echo 'make lint   style and types only'
	@echo 'make format   mend what of the style can be mended'
	@echo 'make clean  remove the environments and everything built'
	@echo
	@echo 'PYTHON=python3.12 picks the interpreter, JOBS=4 the number of test processes, PYTEST="-k store" more options'

# The stamp is as new as what decides about the packages: a second run starts at once.
.venv-%/.ready: pyproject.toml tools/make_environment.sh
	@tools/make_environment.sh .venv-$* $*

test:
	@$(MAKE) --no-print-directory -j1 .venv-$(OLDEST)/.ready .venv-$(NEWEST)/.ready # the second takes the first's files
	@export TMPDIR=$$(tools/scratch_folder.sh); trap 'rm -rf "$$TMPDIR"' EXIT; \
	export TLE_RAW_TEST_FRAGMENTS=$$(mktemp -d); \
	{ log=$$(mktemp); $(MAKE) --no-print-directory lint >"$$log" 2>&1; status=$$?; echo; cat "$$log"; exit $$status; } & \
	echo '== tests, Triton $(OLDEST), beside style and types'; \
	.venv-$(OLDEST)/bin/python -m pytest -q -n $(JOBS) --dist worksteal $(PYTEST); tests=$$?; \
	wait $$!; lint=$$?; \
	echo '== tests, Triton $(NEWEST), without those that do not touch Triton'; \
	.venv-$(NEWEST)/bin/python -m pytest -q -n $(JOBS) --dist worksteal -m 'not one_triton' $(PYTEST); newest=$$?; \
	echo "== exit status: style and types $$lint, Triton $(OLDEST) $$tests, Triton $(NEWEST) $$newest"; \
	[ $$lint = 0 ] && [ $$tests = 0 ] && [ $$newest = 0 ]

test-fast: .venv-$(OLDEST)/.ready
	@.venv-$(OLDEST)/bin/python -m pytest -q -n $(JOBS) $(PYTEST) $$(grep -v '^#' tests/smoke.txt)

test-between: $(BETWEEN:%=.venv-%/.ready)
	@for triton in $(BETWEEN); do \
	  echo "== tests, Triton $$triton, without those that do not touch Triton"; \
	  .venv-$$triton/bin/python -m pytest -q -n $(JOBS) -m 'not one_triton' $(PYTEST) || exit; \
	done

tenstorrent-headers: .venv-$(OLDEST)/.ready
	@.venv-$(OLDEST)/bin/python -m pytest -q -rs $(PYTEST) tests/targets/tenstorrent/test_real_headers.py

lint: .venv-$(OLDEST)/.ready
	@echo '== style: ruff'
	@.venv-$(OLDEST)/bin/ruff check --quiet .
	@.venv-$(OLDEST)/bin/ruff format --check --quiet --diff .
	@echo '== types: mypy'
	@.venv-$(OLDEST)/bin/mypy
	@echo '== arrows between the rooms: import-linter'
	@.venv-$(OLDEST)/bin/lint-imports --no-cache --no-logo

format: .venv-$(OLDEST)/.ready
	@.venv-$(OLDEST)/bin/ruff check --fix .
	@.venv-$(OLDEST)/bin/ruff format .

demo:
	@python=$$(tools/demo_python.sh $(OLDEST)) && "$$python" samples/demo.py

clean:
	rm -rf .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
