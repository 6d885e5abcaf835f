# kubectl-imoocpod. "make help" lists what can be made.
#
# It needs Go, make and git. Everything else is built from Go modules at a
# pinned version: the tools below, and the control plane that the demo and the
# end-to-end tests run on (test/cluster, kept in the user's cache directory).

SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN     := bin
PLUGIN  := $(BIN)/kubectl-imoocpod
CLUSTER := $(BIN)/cluster
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT     := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
DEADCODE       := go run golang.org/x/tools/cmd/deadcode@v0.52.0
STERN          := github.com/stern/stern@v1.34.0
GOVULNCHECK    := go run golang.org/x/vuln/cmd/govulncheck@v1.8.0
# It asks git for a remote, which a clone need not have.
GORELEASER     := GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url \
	GIT_CONFIG_VALUE_0=https://github.com/imoocpod/kubectl-imoocpod \
	go run github.com/goreleaser/goreleaser/v2@v2.16.0

# How many real nodes a control plane has, on Linux and as root; without, there are
# three that kwok plays.
REAL ?=
real  = $(if $(REAL),--nodes=0 --real-nodes=$(REAL))

# The race detector needs cgo, and so a C compiler; without one it is left out.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

##@ Start here

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##@ /{printf "%s%s\n", sep, substr($$0, 5); sep = "\n"} \
		/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build $(CLUSTER) ## Show the four kinds and one of your own on a temporary control plane (REAL=1: with real containers)
	@echo "starting a control plane on loopback"
	@# Without a terminal to read from, all of the demo is ended with the launcher.
	@$(CLUSTER) run $(real) -- test/demo.sh </dev/null

.PHONY: test
test: unit e2e ## Run the unit tests, and the end-to-end tests on temporary control planes

##@ Build

.PHONY: build
build: check-go ## Build the plugin into bin/
	@echo "building $(PLUGIN) (a minute or two for the first time)"
	@# Without cgo, as a release and kubectl are built: 13 MB less, and no libraries to load at each start.
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(PLUGIN) ./cmd/kubectl-imoocpod

# The name of an image that is built with an engine or deployed.
IMG ?= ghcr.io/imoocpod/kubectl-imoocpod:$(VERSION)
ARCH = $(shell go env GOARCH)

.PHONY: image
image: check-go ## Build the image without a container engine, as an OCI layout in bin/image
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" \
		-o $(BIN)/linux/kubectl-imoocpod ./cmd/kubectl-imoocpod
	@go run -C hack/image . --program $(abspath $(BIN)/linux/kubectl-imoocpod) --arch $(ARCH) \
		--version $(VERSION) --output $(abspath $(BIN)/image)

.PHONY: docker-build
docker-build: ## Build the image IMG with docker
	docker build --build-arg VERSION=$(VERSION) --tag $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG with docker
	docker push $(IMG)

.PHONY: generate
generate: check-go ## Generate the deep copies from the types
	$(CONTROLLER_GEN) object paths=./pkg/apis/...

.PHONY: manifests
manifests: check-go ## Generate the CRDs from the types
	$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=true paths=./pkg/apis/... output:crd:artifacts:config=deploy/crds
	go run ./hack/crds deploy/crds/*_*.yaml

.PHONY: reference
reference: check-go ## Generate the command reference from the commands
	go run ./hack/reference

.PHONY: messages
messages: check-go ## Print all messages of the program
	@go run ./hack/messages

.PHONY: fmt
fmt: check-go ## Format the code
	$(GOLANGCI_LINT) fmt ./...
	cd test/cluster && $(GOLANGCI_LINT) fmt ./...
	cd test/bench && $(GOLANGCI_LINT) fmt ./...
	cd hack/image && $(GOLANGCI_LINT) fmt ./...
	cd test/krew && $(GOLANGCI_LINT) fmt ./...
	cd test/node && $(GOLANGCI_LINT) fmt ./...

.PHONY: tidy
tidy: check-go ## Update the module files
	go mod tidy
	go -C test/cluster mod tidy
	go -C test/bench mod tidy
	go -C hack/image mod tidy
	go -C hack/sbom mod tidy
	go -C test/krew mod tidy
	go -C test/node mod tidy
	@# That of the programs of a real node bears another name, as it is embedded.
	@set -e; module=$$(mktemp -d); trap 'rm -rf "$$module"' EXIT; \
	cp test/cluster/node/programs.mod "$$module/go.mod"; cp test/cluster/node/programs.sum "$$module/go.sum"; \
	go -C "$$module" mod tidy; \
	cp "$$module/go.mod" test/cluster/node/programs.mod; cp "$$module/go.sum" test/cluster/node/programs.sum

.PHONY: clean
clean: ## Remove build output; the programs of the control plane stay in the cache
	rm -rf $(BIN) dist

.PHONY: screenshots
screenshots: build $(CLUSTER) ## Take new screenshots for the README
	@PATH="$(abspath $(BIN)):$$PATH" $(CLUSTER) run -- go run ./hack/screenshots -out docs/screenshots </dev/null

##@ Check

.PHONY: unit
unit: check-go ## Run the unit tests
	@# Without vet, which is a part of "make lint". What checks the documents does one thing
	@# after the other, and what runs commands in bubbles does so on one processor: the race
	@# detector would find nothing and take ten times as long.
	go test $(RACE) -vet=off ./cmd/... ./deploy/... ./hack/... ./pkg/...
	go test -vet=off ./docs ./test/apiserver/...
	go -C test/cluster test $(RACE) -vet=off ./...
	go -C hack/image test ./...

# How many end-to-end tests run at the same time: they wait more than they work.
TESTS ?= 8

# The packages whose unit tests are fast, and are all that is asked: most of their rules are functions of values.
PACKAGE ?= pkg/controller/plan pkg/inspect/status pkg/inspect/problem pkg/inspect/doctor/check pkg/controller/lease/leaserecord pkg/kinds pkg/inspect/facts pkg/fieldpath pkg/render/printer pkg/change/replicas pkg/change/template pkg/kube/follow

# A target is PACKAGE:NAME. Plain "go test" runs the seeds of all; a value that was found to fail is kept in testdata.
FUZZTIME ?= 10s
fuzz_targets = $(shell grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' pkg | sed -E 's|/[^/]+:func |:|' | sort)

.PHONY: fuzz
fuzz: check-go ## Run each fuzz target for FUZZTIME (default: 10s)
	@set -e; for target in $(fuzz_targets); do echo "$$target"; \
		go test ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME); \
	done

.PHONY: mutate
mutate: check-go ## Change the code of PACKAGE in small ways, and list what no unit test notices (WITH=pkg/inspect/status: also its tests)
	@set -e; for package in $(PACKAGE); do nice go run ./hack/mutate $$package $(WITH); done

.PHONY: e2e
e2e: check-go $(CLUSTER) ## Run the end-to-end tests
	@# go test shows nothing until a package is done, so what takes minutes for
	@# the first time is built here, where it can be seen.
	@$(CLUSTER) build >/dev/null
	go test $(RACE) -vet=off -count=1 -timeout 30m -parallel $(TESTS) ./test/e2e/...

# Containers run here, so it needs Linux and root; it says what is missing.
.PHONY: test-node
test-node: check-go $(CLUSTER) ## Run the tests on real nodes, with a kubelet and containers (Linux, as root)
	@$(CLUSTER) build --real-nodes >/dev/null
	go -C test/node test -count=1 -timeout 30m ./...

.PHONY: record-node
record-node: check-go $(CLUSTER) ## Record what kubelets write, for the tests of pkg/inspect/status (Linux, as root)
	@$(CLUSTER) build --real-nodes >/dev/null
	go -C test/node test -count=1 -timeout 30m -run 'TestTruths|TestNodeStopsAndComesBack' ./... -record $(abspath pkg/inspect/status/testdata/real)

.PHONY: krew-test
krew-test: release-snapshot $(CLUSTER) ## Install a snapshot of a release with krew
	@$(CLUSTER) run -- go -C test/krew test -count=1 ./... </dev/null

# What finds something new when it is repeated, or takes too long for every change: many
# more random runs, every end-to-end test with the race detector in every process, half an
# hour of chaos, a release built twice and installed with krew, the demo, and the
# measurements in small. "make test-operators" has a nightly job of its own.
.PHONY: nightly
nightly: check-go $(CLUSTER) reproducible krew-test demo ## Run what takes too long for every change (about an hour)
	@$(CLUSTER) build >/dev/null
	RAPID_CHECKS=1000 go test $(RACE) -vet=off -count=1 -timeout 60m ./pkg/...
	go test $(RACE) -vet=off -count=1 -timeout 60m -parallel $(TESTS) ./test/e2e/... -race-everywhere
	go -C test/bench test -count=1 -timeout 30m ./...
	$(MAKE) chaos DURATION=30m

.PHONY: verify
verify: lint platforms files drift documents configuration ## Run the checks that are done for every change

.PHONY: lint
lint: check-go ## Check formatting and lint
	$(GOLANGCI_LINT) run ./...
	cd test/cluster && $(GOLANGCI_LINT) run ./...
	cd test/bench && $(GOLANGCI_LINT) run ./...
	cd hack/image && $(GOLANGCI_LINT) run ./...
	cd test/krew && $(GOLANGCI_LINT) run ./...
	cd test/node && $(GOLANGCI_LINT) run ./...

# A job of its own, as it takes longer than any other check: it reads all that the program is made
# of. deadcode exits with 0 whatever it finds. The packages of the modules that are left out are
# programs and tests: the linter tells what is unused in them.
.PHONY: dead-code
dead-code: check-go ## Check that every function is used
	@set -e -o pipefail; for module in . test/cluster; do \
		(cd $$module && $(DEADCODE) -test ./...) | sed "s|^|$$module/|"; \
	done | { ! grep .; } || { echo "error: no program and no test reaches these functions" >&2; exit 1; }

# A release is built for more; these differ in what compiles. An int has 32 bits on arm.
.PHONY: platforms
platforms: check-go ## Check that the program compiles on other systems
	@# "go build" would link it, too.
	@set -e; for platform in windows/amd64 darwin/arm64 linux/arm; do \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go list -export ./cmd/... ./pkg/... >/dev/null; done

# What git would commit. A picture of the documents may be a binary.
.PHONY: files
files: ## Check that no file is a binary or larger than 256 KB, and no package too large
	@binaries=$$(git ls-files --cached --others --exclude-standard --deduplicate --eol | \
		awk -F '\t' '$$1 ~ / w\/-text / && $$2 !~ /^docs\/.*\.png$$/ {print $$2}'); \
	large=$$(git ls-files -z --cached --others --exclude-standard --deduplicate | \
		xargs -0 sh -c 'find "$$@" -type f -size +256k' sh 2>/dev/null); \
	[ -z "$$binaries$$large" ] || { printf 'error: a binary, or larger than 256 KB: %s\n' $$binaries $$large >&2; exit 1; }
	@# pkg/cmd is the verbs, one file each. What else grows beyond this is about more than one thing.
	@find cmd pkg -name '*.go' ! -name '*_test.go' -exec awk '{ package = FILENAME; sub("/[^/]*$$", "", package); lines[package]++ } \
		END { for (package in lines) if (lines[package] > 2600 && package != "pkg/cmd") { \
			print "error: a package of more than 2,600 lines: " package; large = 1 }; exit large }' {} + >&2

# Copies what git would commit to $$copy, as others may be reading the files.
copy = git clone -q --no-checkout . "$$copy"; \
	git ls-files -z --cached --others --exclude-standard --deduplicate | \
		while IFS= read -r -d '' file; do [ ! -e "$$file" ] || printf '%s\0' "$$file"; done | \
		tar -cf - --null -T - | tar -xf - -C "$$copy"

# In a directory that is new each time: without -trimpath nothing of it would be in Go's
# cache. One thing after the other, also with --jobs: some read what others write.
.PHONY: drift
drift: check-go ## Check that generated files and module files are up to date
	@set -e -o pipefail; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	$(copy); cd "$$copy"; git add -A; \
	CGO_ENABLED=0 GOFLAGS=-trimpath MAKEFLAGS= $(MAKE) --no-print-directory generate manifests reference tidy; \
	git add -A --intent-to-add; \
	if ! git --no-pager diff --exit-code; then \
		echo 'error: files are not up to date: run "make generate manifests reference tidy"' >&2; exit 1; fi; \
	echo "generated files and module files are up to date"

.PHONY: documents
documents: check-go ## Check the documents, and the manifests for krew
	go test ./docs ./hack/krew
	@# What the next release is made from, and what people install before there is one; the
	@# archives are tested before it. A manifest has to be called as the plugin is.
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; cp krew.yaml "$$scratch/imoocpod.yaml"; \
	for manifest in "$$scratch/imoocpod.yaml" $(wildcard plugins/imoocpod.yaml); do \
		go tool -modfile=test/krew/go.mod validate-krew-manifest -skip-install -manifest "$$manifest"; \
	done

.PHONY: configuration
configuration: check-go ## Check the workflows and the release configuration
	$(ACTIONLINT) -shellcheck= -pyflakes=
	@! grep -nE '^ *-? uses: ' .github/workflows/*.yaml | grep -vE 'uses: (\./|[^@]+@[0-9a-f]{40} # v[0-9.]+$$)' || \
		{ echo "error: actions are pinned by their commit" >&2; exit 1; }
	$(GORELEASER) check

# It asks https://vuln.go.dev, so it is no part of "verify", which works offline.
.PHONY: vulnerabilities
vulnerabilities: check-go ## Check for known vulnerabilities in the code that the program calls
	$(GOVULNCHECK) ./cmd/...

# New random runs are begun for as long as DURATION, the loop is stopped at every write of
# a longer story in every way, and a command at every request. A failure says how to repeat it.
DURATION ?= 15m

.PHONY: chaos
chaos: check-go $(CLUSTER) ## Run the controller under random faults for DURATION (default: 15m)
	@$(CLUSTER) build >/dev/null
	@# Verbose, for the summary at the end; of what went well nothing else is shown.
	@set -o pipefail; go test $(RACE) -v -count=1 -timeout 0 -parallel $(TESTS) -run 'TestChaos|TestEveryCrashPoint|AnotherWriter|TestStepsKilled' ./test/e2e -chaos $(DURATION) -long 2>&1 | \
		grep --line-buffered -vE '^ *(=== |--- PASS)'

# Operators of others, each in a module of its own below test/operators. "tidy" leaves them alone: it would add the
# sums of all that the tests of their modules need, more than is fit for a file here. After a change of a version:
# GOFLAGS=-mod=mod go list -C test/operators/MODULE -deps tool
OPERATORS = argo-rollouts prometheus-operator kruise

# About twenty minutes, and as many more to build the operators for the first time.
# Fewer at a time than of the other tests: how late a wait ends is measured.
.PHONY: test-operators
test-operators: check-go $(CLUSTER) ## Test verdicts on objects of real operators
	@$(CLUSTER) build >/dev/null
	@for module in $(OPERATORS); do $(CLUSTER) build --module test/operators/$$module >/dev/null || exit; done
	go test -count=1 -timeout 90m -parallel 4 ./test/operators -write

# The figures of docs/benchmarks.md: about twenty minutes, on a machine that does
# nothing else. ARGS="-quick" only shows that it works.
.PHONY: bench
bench: build $(CLUSTER) ## Measure, and write docs/benchmarks.md
	@go build -C test/bench -o $(abspath $(BIN)/bench) .
	@$(CLUSTER) run --arg 'kube-controller-manager:--controllers=*,-replicaset-controller' -- \
		$(BIN)/bench -plugin $(PLUGIN) -source . -out docs $(ARGS) </dev/null

# What it costs to follow an object, beside kubectl and the plugin of Argo Rollouts: up to
# half an hour, on a machine that does nothing else, and a while to build Argo Rollouts.
ROLLOUTS = test/operators/argo-rollouts
.PHONY: bench-following
bench-following: build $(CLUSTER) ## Measure commands that follow an object, and write docs/benchmarks-following.md
	@go build -C test/bench -o $(abspath $(BIN)/bench) .
	@set -e; programs=$$($(CLUSTER) build --module $(ROLLOUTS)); \
	go mod download -C $(ROLLOUTS) github.com/argoproj/argo-rollouts; module=$$(go list -C $(ROLLOUTS) -m -f '{{.Dir}}' github.com/argoproj/argo-rollouts); \
	$(CLUSTER) run --arg 'kube-controller-manager:--controllers=*,-replicaset-controller' -- \
		$(BIN)/bench -following -plugin $(PLUGIN) -rollouts "$$programs" -rollouts-crds "$$module/manifests/crds" \
		-source . -out docs $(ARGS) </dev/null

# What else a loop can be bad at: failover, starts, many kinds and nodes. About thirteen
# minutes, on a machine that does nothing else. ARGS="-parts Wide,Nodes" measures only some.
.PHONY: bench-loop
bench-loop: build $(CLUSTER) ## Measure the controller under load, and write docs/benchmarks-loop.md
	@go build -C test/bench -o $(abspath $(BIN)/bench) .
	@CGO_ENABLED=0 go build -C test/bench -trimpath -ldflags "-s -w" -o $(abspath $(BIN)/example) ./example
	@# A node has room for 5,000 pods, and its parts leave theirs behind.
	@$(CLUSTER) run --nodes 10 --arg 'kube-controller-manager:--controllers=*,-replicaset-controller,-statefulset-controller,-daemonset-controller' \
		--arg kube-apiserver:--feature-gates=MaxUnavailableStatefulSet=true -- \
		$(BIN)/bench -loop -plugin $(PLUGIN) -example $(BIN)/example -source . -out docs $(ARGS) </dev/null

# How fast logs are followed, beside kubectl and stern: two minutes, on a machine that
# does nothing else.
.PHONY: bench-logs
bench-logs: build $(CLUSTER) ## Measure how fast logs are followed, beside kubectl and stern
	@go build -C test/bench -o $(abspath $(BIN)/bench) .
	@GOBIN=$(abspath $(BIN)) go install $(STERN)
	@$(CLUSTER) run --nodes 0 -- $(BIN)/bench -logs-beside $(BIN)/stern -plugin $(PLUGIN) $(ARGS) </dev/null

# The figures of docs/operating.md, of clusters with very many of one thing. They
# need 12 GiB of memory.
.PHONY: limits
limits: build $(CLUSTER) ## Measure memory at the limits, and write docs/operating.md
	@go build -C test/bench -o $(abspath $(BIN)/bench) .
	@$(CLUSTER) run --nodes 6 -- $(BIN)/bench -limits -plugin $(PLUGIN) -out docs $(ARGS) </dev/null

##@ Release

# What a snapshot is called: the last tag, the commits since, and the commit.
SNAPSHOT = $(shell git describe --tags --long 2>/dev/null || \
	echo v0.0.0-$$(git rev-list --count HEAD)-g$$(git rev-parse --short HEAD))

.PHONY: cyclonedx
cyclonedx: check-go
	@GOFLAGS=-trimpath go tool -modfile=hack/sbom/go.mod cyclonedx-gomod version >/dev/null

.PHONY: release-snapshot
release-snapshot: cyclonedx ## Build a release of the checkout in dist/, offline
	GORELEASER_CURRENT_TAG=$(SNAPSHOT) $(GORELEASER) release --clean --skip=validate,publish
	go run ./hack/krew -dist dist

.PHONY: release
release: cyclonedx ## Build a release of the checked-out tag in dist/
	$(GORELEASER) release --clean --skip=publish
	go run ./hack/krew -dist dist

# In another directory and at another time. What was compiled comes from Go's
# cache if it is there; what is linked, packed and listed is made anew.
.PHONY: reproducible
reproducible: release-snapshot ## Build a snapshot twice and compare the checksums
	@set -e -o pipefail; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	$(copy); $(MAKE) --no-print-directory -C "$$copy" release-snapshot; \
	diff dist/checksums.txt "$$copy/dist/checksums.txt"; \
	diff dist/krew/imoocpod.yaml "$$copy/dist/krew/imoocpod.yaml"; \
	echo "the same was made twice"

.PHONY: krew-manifests
krew-manifests: ## Publish the release in dist/ to the krew index
	cp dist/krew/imoocpod.yaml plugins/imoocpod.yaml
	rm -f plugins/.gitkeep

##@ Use the current context

.PHONY: install
install: build ## Install the CRDs
	$(PLUGIN) install

.PHONY: uninstall
uninstall: build ## Remove the CRDs, unless objects exist
	$(PLUGIN) uninstall --crds

.PHONY: deploy
deploy: build ## Install the CRDs and the controller for all namespaces (IMG=…)
	$(PLUGIN) install --controller --all-namespaces --image $(IMG)

.PHONY: undeploy
undeploy: build ## Remove the controller; CRDs and objects stay
	$(PLUGIN) uninstall --all-namespaces

.PHONY: run
run: build ## Run the controller (ARGS="-A" for all namespaces)
	$(PLUGIN) run-controller $(ARGS)

##@ A local control plane

.PHONY: cluster-up
cluster-up: $(CLUSTER) ## Start it in the background and print the variables to export (REAL=1: with a real node)
	@$(CLUSTER) up $(or $(real),--kwok-config=test/e2e/testdata/kwok/as-annotated.yaml)

.PHONY: cluster-down
cluster-down: $(CLUSTER) ## Stop it
	@$(CLUSTER) down

# Always asked of go, which knows better than make whether it is up to date.
# Silent, so that eval "$(make cluster-up)" sees nothing else.
.PHONY: $(CLUSTER)
$(CLUSTER): check-go
	@CGO_ENABLED=0 go build -C test/cluster -o $(abspath $(CLUSTER)) .

# A Go since 1.21 gets the one that go.mod asks for, unless GOTOOLCHAIN or the
# network forbid it; then asking for its version here fails or tells the old one.
# A line of make's own says it, and is the only one.
GO_NEEDED  := $(shell sed -n 's/^go //p' go.mod)
go_version  = $(shell { go env GOVERSION || { cd / && GOTOOLCHAIN=local go env GOVERSION; }; } 2>/dev/null | \
	sed -E 's/.*go([0-9][^ -]*).*/\1/')
oldest      = $(shell printf '%s\n' $1 $2 | sort -V | head -n 1)
want_go     = $(if $1,$(if $(filter $(GO_NEEDED),$(call oldest,$(GO_NEEDED),$1)),,$(error \
	Go $(GO_NEEDED) or newer is needed, and the one on PATH is $1)),$(error \
	Go $(GO_NEEDED) or newer is needed, and there is none on PATH))

.PHONY: check-go
check-go:
	@: $(call want_go,$(go_version))
