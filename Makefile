# The everyday commands; `make` alone lists them. Each prints what it did on its last line.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(CURDIR)/.deps/go/bin:$(PATH)
export GOTOOLCHAIN := local

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
ARGS ?=

# What `make check` does, in three phases, each step a target of its own; those left of a bar run beside those right of it.
# Emulated processors have the machine to themselves: what they run has time limits.
CHECKS := 'deps deps-test | format vet staticcheck imports' 'generated compose conformance plain | race integration' rdma

.DEFAULT_GOAL := help
.PHONY: help toolchain deps deps-test build package demo test check $(filter-out |,$(subst ',,$(CHECKS))) fmt generate web bench fuzz-api bench-collective bench-segment bench-diagnose bench-search bench-history bench-hostping chaos clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

toolchain:
	@scripts/deps.sh go

deps: ## fetch the Go toolchain and the embedded ClickHouse engine into .deps, where they are missing
	@scripts/deps.sh

deps-test: ## install what the tests need: Debian packages (as root), Apache Kafka's jars, Kubernetes
	@scripts/deps-test.sh

build: toolchain ## bin/giverny
	@GOGC=300 go build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o bin/giverny ./cmd/giverny
	@echo "make build: bin/giverny $(VERSION)"

package: build ## bin/giverny.deb: the binary and the units of systemd
	@scripts/package.sh bin/giverny $(VERSION) bin/giverny.deb

demo: ## a simulated fabric, analysed live in your browser; options for `giverny demo` go into ARGS
	@scripts/demo.sh $(ARGS)

test: ## every test, those with real services too
	@scripts/deps.sh && scripts/deps-test.sh || \
	{ echo "make test: FAILED: the dependencies could not be fetched; what went wrong stands above"; exit 1; }
	@scripts/gotest.sh unit integration rdma

check: ## all that must hold before a commit, step by step, with times
	@scripts/steps.sh $(CHECKS)

fmt: toolchain ## format the Go files
	@gofmt -w $$(scripts/gofiles.sh)

format: toolchain
	@files=$$(gofmt -l $$(scripts/gofiles.sh)); \
	[ -z "$$files" ] || { echo "not formatted; run make fmt:"; echo "$$files"; exit 1; }
	@! git grep -nE '^(<{7}|>{7}) ' || { echo "make format: the lines above are left of a merge"; exit 1; }

vet: toolchain
	@go vet -tags integration,rdma ./... && go vet ./... # the latter finds what go test ./... lacks where it has no tag

staticcheck: toolchain
	@GOGC=300 go tool staticcheck -tags integration,rdma ./...

imports: toolchain
	@go test -vet=off ./internal/importrules/...

generate: toolchain ## regenerate the generated files
	@go generate ./...

web: ## the page: types from the OpenAPI document, type check, bundle (needs Node)
	@scripts/web.sh
	@echo "make web: dashboards/web/dist"

generated: toolchain
	@scripts/generated.sh

compose: toolchain
	@go test -vet=off ./deploy/compose/... && (cd deploy/compose/promtest && go test -vet=off ./...) && (cd deploy/helm/charttest && go test -vet=off ./...)

conformance: toolchain ## feedback against a real Alertmanager and the types of the scheduler of Kubernetes
	@cd feedback/conformance && go test -vet=off ./...

race: toolchain ## the unit tests of what runs concurrently, under the race detector
	@scripts/gotest.sh race

plain: toolchain ## the unit tests that race leaves out, without it
	@scripts/gotest.sh plain

integration: deps deps-test ## the tests that start Kafka, the subnet simulator or a browser
	@scripts/gotest.sh integration

rdma: deps-test toolchain ## perftest over a real RDMA stack in guests of QEMU: a host probed inside, and a search between two
	@scripts/gotest.sh rdma

bench: toolchain ## every benchmark, briefly
	@go test -tags integration -run '^$$' -bench . -benchmem -benchtime 200ms ./...

bench-collective: toolchain ## how often the diagnosis of collectives is right about simulated incidents, and the bytes of telemetry
	@go run ./collective/bench/cmd $(ARGS)

bench-diagnose: toolchain ## how often the diagnoser is right about incidents whose causes are known
	@go run ./diagnose/bench/cmd
	@go run ./diagnose/bench/cmd -world credits -samples 3

bench-history: deps ## five months of a torus of 41,472 links: what each question about them takes; options go into ARGS
	@go run ./store/bench/cmd $(ARGS)

bench-segment: toolchain ## how well and how fast each method finds the regions of each test set
	@go run ./segment/bench/cmd
	@go run ./segment/bench/cmd -noise -methods paper,statistical,overlap

bench-search: toolchain ## how well each search finds the anomalies of subsystems whose truth is known, beside the paper's figures
	@go run ./search/bench/cmd

bench-hostping: toolchain ## how often each bottleneck inside a host is named, and the paper's twelve cases; options go into ARGS
	@go run ./hostping/bench/cmd $(ARGS)

SEED ?= $(shell echo $$RANDOM)
FOR ?= 3m
chaos: deps deps-test ## a random walk over faults, then the tables against every reading taken in: SEED=7 FOR=2h, as root
	@GIVERNY_CHAOS_SEED=$(SEED) GIVERNY_CHAOS_FOR=$(FOR) scripts/gotest.sh chaos

fuzz-api: deps ## requests made of the OpenAPI document (schemathesis, of PyPI) against the API of a demonstration
	@scripts/fuzz-api.sh $(ARGS)

clean: ## remove what make build made; .deps stays
	@rm -rf bin
