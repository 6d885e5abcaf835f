# kubectl-imoocpod. "make help" lists the targets.
#
# The targets need Go, make, and git. Go modules at pinned versions provide the
# tools, and the control plane for the demo and the end-to-end tests (test/cluster,
# in the user's cache directory).

SHELL := /bin/bash
.DEFAULT_GOAL := help
# bin/cluster is a file, but phony, because go checks whether it is up to date.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' $(lastword $(MAKEFILE_LIST))) bin/cluster

BIN     := bin
PLUGIN  := $(BIN)/kubectl-imoocpod
CLUSTER := $(BIN)/cluster
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)

# The Go modules to format, tidy, and lint. A directory has its own module if it needs libraries
# that the plugin does not need.
MODULES := . test/cluster test/bench test/krew hack/image

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTESTSUM      := go run gotest.tools/gotestsum@v1.13.0
DEADCODE       := go run golang.org/x/tools/cmd/deadcode@v0.52.0
GOVULNCHECK    := go run golang.org/x/vuln/cmd/govulncheck@v1.8.0
# GoReleaser needs a git remote, but not every clone has a remote.
GORELEASER     := GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url \
	GIT_CONFIG_VALUE_0=https://github.com/imoocpod/kubectl-imoocpod \
	go run github.com/goreleaser/goreleaser/v2@v2.16.0

# The number of real nodes (Linux, as root). By default, kwok simulates three nodes.
REAL ?=
real  = $(if $(REAL),--nodes=0 --real-nodes=$(REAL))

# The Kubernetes version of control planes, such as 1.33. The default is the version in test/cluster/go.mod.
export IMOOCPOD_CLUSTER_KUBERNETES ?= $(KUBERNETES)

# The race detector needs cgo, which needs a C compiler.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Outside CI, gotestsum shows a dot for each finished test. "go test" alone would show nothing until a
# package is done.
E2E = $(GOTESTSUM) --format $(if $(CI),pkgname,dots) -- $(RACE) -vet=off -count=1 -parallel $(TESTS)

##@ Start here

help: ## List the targets
	@awk -F ':.*## ' '/^##@ /{printf "%s%s\n", sep, substr($$0, 5); sep = "\n"} \
		/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(CLUSTER) ## Run the commands of the README on a temporary control plane (REAL=1: with real containers)
	@$(CLUSTER) run $(real) -- go test -vet=off -v -count=1 -run TestReadme ./test/e2e/clusterwide -running

test: ## Run the unit tests, and the end-to-end tests on temporary control planes, at the same time
	@$(MAKE) --no-print-directory --jobs=2 unit e2e

##@ Build

build: ## Build the plugin into bin/
	@echo "building $(PLUGIN) (a minute or two for the first time)"
	@# Without cgo, like releases and kubectl. The binary is 13 MB smaller and loads no libraries.
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(PLUGIN) ./cmd/kubectl-imoocpod

ARCH = $(shell go env GOARCH)

image: ## Build the image without a container engine, as an OCI layout in bin/image
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" \
		-o $(BIN)/linux/kubectl-imoocpod ./cmd/kubectl-imoocpod
	@rm -rf $(BIN)/image
	@go run -C hack/image . --program $(abspath $(BIN)/linux/kubectl-imoocpod) --arch $(ARCH) \
		--version $(VERSION) --output $(abspath $(BIN)/image)

generate: ## Generate the CRD of ImoocPods and the command reference
	$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=true paths=./pkg/apis/... output:crd:artifacts:config=deploy/crds
	hack/crds deploy/crds/batch.tutorial.kubebuilder.io_imoocpods.yaml
	go run ./hack/reference

messages: ## Print the lines of code with a message of the program, by file (docs/commands has the help)
	@git grep --heading --break -nE -e '"[^"]*[A-Za-z]{2,}[,;:]? [a-z%("-]' --and --not -e '^\s*//' -- \
		'cmd/*.go' 'pkg/*.go' ':!*_test.go' ':!*test/*.go'

fmt: tidy ## Format the code and update the module files
	@set -e; for module in $(MODULES); do (cd $$module && $(GOLANGCI_LINT) fmt ./...); done

tidy:
	@set -e; for module in $(MODULES); do go -C $$module mod tidy; done
	@# The module for the programs on a real node is embedded, so its files have other names.
	@set -e; module=$$(mktemp -d); trap 'rm -rf "$$module"' EXIT; programs=test/cluster/node/programs; \
	cp $$programs.mod "$$module/go.mod"; cp $$programs.sum "$$module/go.sum"; go -C "$$module" mod tidy; \
	cp "$$module/go.mod" $$programs.mod; cp "$$module/go.sum" $$programs.sum

clean: ## Remove build output; the programs of the control plane stay in the cache
	rm -rf $(BIN) dist

screenshots: build $(CLUSTER) ## Take new screenshots for the README
	@PATH="$(abspath $(BIN)):$$PATH" $(CLUSTER) run -- go run ./hack/screenshots -out docs/screenshots

##@ Check

unit: ## Run the unit tests
	@# "make lint" runs vet. Only the last line uses the race detector. The detector has nothing to find in the
	@# sequential tests of the documents, and would report that commands in one process share klog's logger.
	@# With the race detector, the loop takes five times as long. So the last line draws fewer random worlds, runs
	@# a quarter of the worlds and of the crashes, and skips two long tests. The line before it runs everything.
	$(PLAIN_TEST) -parallel $(TESTS) ./docs ./cmd/... ./test/apiserver/...
	cd hack/image && $(PLAIN_TEST) ./...
	cd test/cluster && $(PLAIN_TEST) ./...
	RAPID_CHECKS=100 $(PLAIN_TEST) -run '^($(WORLDS)|$(LONG))$$' ./pkg/controller ./pkg/controller/run ./pkg/inspect/observe
	RAPID_CHECKS=40 go test $(RACE) -vet=off -skip '^($(LONG))$$' ./deploy/... ./hack/... ./pkg/...

# The settings of "make build" and of the programs that the end-to-end tests run, so that Go compiles each
# library at most twice: with these settings, and with the race detector.
PLAIN_TEST = CGO_ENABLED=0 go test -trimpath -vet=off

WORLDS = TestArbitraryObjectsConverge|TestEveryCrashPoint
LONG = TestMissingRights|TestFollowersMatchFreshRead

# The number of end-to-end tests or command tests that run in parallel. They mostly wait.
TESTS ?= 8

e2e: $(CLUSTER) ## Run the end-to-end tests
	@$(CLUSTER) build >/dev/null
	@$(E2E) -timeout 30m ./test/e2e/...

quick: ## Lint the packages that differ from the main branch, and test them and those that import them
	@GOLANGCI_LINT="$(GOLANGCI_LINT)" hack/verify/quick

verify: lint ## Run the checks for every change: lint, other systems, files, generated code, documents, workflows
	hack/verify/platforms
	hack/verify/files
	hack/verify/drift
	hack/verify/documents
	hack/verify/workflows
	$(GORELEASER) check

lint: ## Check formatting and lint
	@set -e; for module in $(MODULES); do (cd $$module && $(GOLANGCI_LINT) run ./...); done

# CI runs this in a separate job, because it takes a long time. deadcode always exits with 0.
dead-code: ## Check that every function is used
	@set -e -o pipefail; for module in . test/cluster; do \
		(cd $$module && $(DEADCODE) -test ./...) | sed "s|^|$$module/|"; \
	done | { ! grep .; } || { echo "error: no program and no test reaches these functions" >&2; exit 1; }

# This needs https://vuln.go.dev, so "verify", which works offline, does not run it.
vulnerabilities: ## Check for known vulnerabilities in the code that the program calls
	$(GOVULNCHECK) ./cmd/...

##@ Search for faults

# A target is PACKAGE:NAME. "go test" runs the seeds of all targets, and the failing inputs in testdata.
FUZZTIME ?= 10s
fuzz_targets = $(shell grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' pkg | sed -E 's|/[^/]+:func |:|' | sort)

fuzz: ## Run each fuzz target for FUZZTIME (default: 10s)
	@set -e; for target in $(fuzz_targets); do echo "$$target"; \
		go test ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME); \
	done

# Packages with fast unit tests. Most of their rules are pure functions.
PACKAGE ?= pkg/controller/plan pkg/inspect/status pkg/inspect/problem pkg/inspect/doctor/check pkg/controller/lease/leaserecord \
	pkg/kinds pkg/inspect/facts pkg/fieldpath pkg/render/printer pkg/change/replicas pkg/change/template pkg/kube/follow

# Each transcript is a separate run, so a mutant runs only the transcripts that reach it.
WITH ?= $(if $(filter pkg/cmd,$(PACKAGE)),$(patsubst cmd/kubectl-imoocpod/testdata/%,cmd/kubectl-imoocpod:TestTranscripts/%,$(wildcard cmd/kubectl-imoocpod/testdata/*.txt)))

mutate: ## Change the code of PACKAGE in small ways, and list the changes that no unit test notices (WITH=pkg/inspect/status: also its tests)
	@set -e; for package in $(PACKAGE); do nice go run ./hack/mutate $$package $(WITH); done

# New random runs start until DURATION is over. A failure prints how to repeat it.
DURATION ?= 15m

chaos: $(CLUSTER) ## Run the controller under random faults for DURATION (default: 15m)
	@$(CLUSTER) build >/dev/null
	@set -o pipefail; go test $(RACE) -v -count=1 -timeout 0 -parallel $(TESTS) -run TestChaos ./test/e2e -chaos $(DURATION) 2>&1 | \
		grep --line-buffered -vE '^ *(=== |--- PASS)'

test-node: $(CLUSTER) ## Run the tests on real nodes (Linux, as root; RECORD=1: record what kubelets write, for the tests of status)
	@$(CLUSTER) build --real-nodes >/dev/null
	go test -count=1 -timeout 30m ./test/node \
		$(if $(RECORD),-run 'TestRealPodStatus|TestNodeStopsAndComesBack' -record $(abspath pkg/inspect/status/testdata/real))

test-versions: $(CLUSTER) ## Run the tests of docs/versions.md against other versions of Kubernetes (hours; VERSIONS="1.30 1.33": only these)
	hack/versions $(VERSIONS)

# Third-party operators, each in a module of test/operators. After a change of a version, run:
# GOFLAGS=-mod=mod go list -C test/operators/MODULE -deps tool
OPERATORS = argo-rollouts prometheus-operator kruise

test-health: ## Compare verdicts with the health that others expect (HEALTH=DIRECTORY with objects.jsonl)
	go test -vet=off -count=1 -v ./pkg/inspect/facts -run Health $(if $(HEALTH),-args -health $(abspath $(HEALTH)))

# The first build of the operators takes a long time. Only a few tests run in parallel, because
# they measure how late a wait ends.
test-operators: $(CLUSTER) ## Test verdicts on objects of real operators
	@$(CLUSTER) build >/dev/null
	@for module in $(OPERATORS); do test/operators/build $$module || exit; done
	go test -count=1 -timeout 90m -parallel 4 ./test/operators -write
	cd test/operators/kruise && $(GOLANGCI_LINT) run ./...

krew-test: release-snapshot $(CLUSTER) ## Install a snapshot of a release with krew
	@$(CLUSTER) run -- go -C test/krew test -count=1 ./...

nightly: $(CLUSTER) reproducible krew-test demo ## Run what takes too long for every change (an hour; test-operators and test-versions have jobs of their own)
	@$(CLUSTER) build >/dev/null
	RAPID_CHECKS=1000 go test $(RACE) -vet=off -count=1 -timeout 60m ./pkg/...
	RAPID_CHECKS=1000 go test $(RACE) -vet=off -count=1 -timeout 60m -run '^($(WORLDS))$$' ./pkg/controller -every
	@$(E2E) -timeout 60m ./test/e2e/... $(if $(RACE),-race-everywhere)
	go -C test/cluster test $(RACE) -vet=off -count=1 ./...
	go -C test/bench test -count=1 -timeout 30m ./...
	$(MAKE) chaos DURATION=30m

##@ Measure, on an idle machine

PART ?= commands

bench: build $(CLUSTER) ## Measure PART (commands, following, loop, limits) and write its page (ARGS=-quick: only see that it works)
	@test/bench/run $(PART) $(ARGS)

##@ Release

# The name of a snapshot contains the last tag, the number of commits since then, and the commit.
SNAPSHOT = $(shell git describe --tags --long 2>/dev/null || \
	echo v0.0.0-$$(git rev-list --count HEAD)-g$$(git rev-parse --short HEAD))

release-snapshot: ## Build a release of the checkout in dist/, offline
	@GOFLAGS=-trimpath go tool -modfile=hack/sbom/go.mod cyclonedx-gomod version >/dev/null
	GORELEASER_CURRENT_TAG=$(SNAPSHOT) $(GORELEASER) release --clean --skip=validate,publish
	hack/krew

release: ## Build a release of the checked-out tag in dist/
	@GOFLAGS=-trimpath go tool -modfile=hack/sbom/go.mod cyclonedx-gomod version >/dev/null
	$(GORELEASER) release --clean --skip=publish
	hack/krew

reproducible: release-snapshot ## Build a snapshot twice and compare the checksums
	hack/verify/reproducible

##@ A local control plane

cluster-up: $(CLUSTER) ## Start it in the background and print the variables to export (REAL=1: with a real node; ASSETS=DIR: with etcd and kube-apiserver of DIR)
	@$(CLUSTER) up $(if $(ASSETS),"--assets=$(ASSETS)") $(real)

cluster-down: $(CLUSTER) ## Stop it
	@$(CLUSTER) down

# This prints nothing, so that eval "$(make cluster-up)" works.
$(CLUSTER):
	@CGO_ENABLED=0 go build -C test/cluster -trimpath -o $(abspath $(CLUSTER)) .
