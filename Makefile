# The two main commands are make demo and make test.
.PHONY: help demo test check build dist try site beam scale runtime lightgbm jpegturbo cuda bench verify peer fuzz lint generate move clean
.DEFAULT_GOAL := help

# All packages of the modules that go.work lists.
packages := ./... ./cloud/... ./cmd/pipe/... ./cmd/pipe-beam/... ./serve/... ./bench/...

# Test programs have no data for debuggers: that halves the time to link them.
link := -ldflags=-w

# .ci/run sets these two. It has vetted in make lint, and with -trimpath every package would be compiled once more.
vet :=
trim := -trimpath

# Build tags of bin/pipe.
tags :=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: runtime build ## short runs of two benchmarks: train, evaluate, decide; writes reports to demo/
	@go run ./tools/fetch lightgbm || echo "demo: continuing without LightGBM and boosted trees" >&2
	tools/demo.sh

test: runtime ## run all tests; compare with Python packages if Python is installed
	@test -d "$${PIPE_DATA:-../shared/data}" || echo "test: no folder $${PIPE_DATA:-../shared/data}: tests on real data will be skipped" >&2
	@go run ./tools/fetch lightgbm || { echo "test: no LightGBM: tests of boosted trees will be skipped" >&2; test "$${CI:-}" != true; }
	@tools/jpegturbo.sh || { echo "test: no libjpeg-turbo: tests of that decoder will be skipped" >&2; test "$${CI:-}" != true; }
	python=$$(tools/judges.sh) && PIPE_PYTHON="$$python" go test $(vet) $(link) -timeout 9m $(packages)

build: ## build bin/pipe; tags=cloud adds the object stores of Amazon, Google and Azure
	go build $(trim) -tags '$(tags)' -ldflags='-s -w' -o bin/pipe ./cmd/pipe

site: ## write the pages of README.md and docs/ as a site with a search into out/site (needs pip)
	@go run ./tools/fetch site
	tools/site/build.sh out/site

dist: ## write what is released into dist/: archives, Debian packages, images, SBOMs, checksums (needs pip, and apt for images)
	go run ./tools/dist

# What users do with the artifacts. The program is bin/pipe, so that nothing is compiled twice.
try: build ## install the archive, the Debian package and the image of this machine as users do, and follow the tutorial with each
	go run ./tools/dist -out out/try -platforms "$$(go env GOOS)/$$(go env GOARCH)" -kinds archive,deb,image -binary bin/pipe
	tools/dist/try.sh out/try

beam: ## build bin/pipe-beam, for Flink and other runners of Apache Beam
	go build $(trim) -o bin/pipe-beam ./cmd/pipe-beam

scale: runtime ## bin/pipe-beam on a Flink cluster of its own, with failures: same bytes, nothing paid twice (needs Java and Maven)
	tools/scale.sh "$${SCALE:-full}"

runtime: ## fetch the pinned ONNX Runtime into third_party/ with pip or npm
	@go run ./tools/fetch runtime

lightgbm: ## fetch the pinned LightGBM for boosted trees into third_party/ with pip
	@go run ./tools/fetch lightgbm

jpegturbo: ## fetch libjpeg-turbo, a faster decoder of JPEG, into third_party/ with apt
	@tools/jpegturbo.sh

cuda: ## fetch ONNX Runtime for NVIDIA GPUs with its CUDA libraries
	@go run ./tools/fetch cuda

bench: runtime ## run the Go benchmarks
	go test -run '^$$' -bench . -benchmem -timeout 30m $(packages)

verify: runtime build ## check that a policy file, alone or with its encoder, decides the same in every language of examples/
	python=$$(tools/judges.sh) && PIPE_VERIFY_PYTHON="$$python" tools/verify/run.sh

peer: runtime build ## training speed compared with PyTorch (fetches PyTorch, about 3 GB)
	tools/peer/run.sh

fuzz: runtime ## fuzz every reader of untrusted input, FUZZTIME (10m) each: a few hours
	@tools/jpegturbo.sh || echo "fuzz: no libjpeg-turbo: its decoder is not fuzzed" >&2
	tools/fuzz.sh "$${FUZZTIME:-10m}" "$${FUZZ:-.}"

check: ## quick checks of what is not committed: format, vet, import table, short tests around it; BASE=COMMIT: since then
	@tools/check.sh $(BASE)

lint: ## format, vet, staticcheck, tidy modules, generated files
	@tools/lint.sh

generate: ## generate the Go code of the protobuf schemas, and the notebooks of the recipes
	tools/genproto.sh
	go run ./tools/notebook docs/recipes/*.md

# Where the module is to be published. Its owner creates that repository first, then runs make move once.
MODULE := github.com/experts-and-advice/pipe

move: ## change the module path to MODULE, for when it is published there
	tools/move.sh "$(MODULE)"
	go vet $(packages)

clean: ## remove build outputs and demo reports, not fetched libraries
	rm -rf bin out demo dist
