# kubectl-imoocpod. "make help" lists what can be made.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help go build run generate manifests fmt lint tidy drift unit e2e test demo \
	cluster-up cluster-down cluster-programs install uninstall verify clean

BIN        := bin
PLUGIN     := $(BIN)/kubectl-imoocpod
CLUSTER    := $(BIN)/cluster
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
GO_NEEDED  := $(shell sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod)

# Tools, each at one version; "go run" builds them from their modules.
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

go:
	@have=$$(go env GOVERSION 2>/dev/null | sed 's/^go//'); \
	if [ -z "$$have" ]; then echo "error: Go $(GO_NEEDED) or newer is needed, and no go is on PATH" >&2; exit 1; fi; \
	if [ "$$(printf '%s\n' "$(GO_NEEDED)" "$$have" | sort -V | head -n 1)" != "$(GO_NEEDED)" ]; then \
		echo "error: Go $(GO_NEEDED) or newer is needed, this is $$have" >&2; exit 1; fi

##@ build
build: go ## Build the plugin into bin/
	@mkdir -p $(BIN)
	go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(PLUGIN) ./cmd/kubectl-imoocpod

run: build ## Run the controller from source against the current context (ARGS="-A" and so on)
	$(PLUGIN) run-controller $(ARGS)

install: build ## Install the CRDs into the current context
	$(PLUGIN) install

uninstall: build ## Remove the CRDs from the current context, unless objects exist
	$(PLUGIN) uninstall --crds

generate: go ## Generate the deep copies from the types
	$(CONTROLLER_GEN) object paths=./pkg/apis/...

manifests: go ## Generate the CRDs from the types
	$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=true paths=./pkg/apis/... output:crd:artifacts:config=deploy/crds

##@ test
test: unit e2e ## Run the unit and the end-to-end tests

unit: go ## Run the unit tests
	go test -race $$(go list ./... | grep -v /test/)

e2e: build $(CLUSTER) ## Run the end-to-end tests on a control plane of their own
	go test -race -count=1 -timeout 30m ./test/...

demo: build $(CLUSTER) ## Show the whole way on a control plane of its own
	$(CLUSTER) run -- test/demo.sh $(abspath $(BIN))

cluster-up: $(CLUSTER) ## Start a control plane on loopback and print what to export
	@$(CLUSTER) up

cluster-down: $(CLUSTER) ## Stop it
	@$(CLUSTER) down

$(CLUSTER): go $(wildcard test/cluster/*)
	@mkdir -p $(BIN)
	go build -C test/cluster -o $(abspath $(CLUSTER)) .

##@ check
verify: lint drift ## Check format, lint and generated files

lint: go ## Check format and lint
	@unformatted=$$(gofmt -l cmd pkg deploy test); if [ -n "$$unformatted" ]; then echo "not gofmt-clean: $$unformatted" >&2; exit 1; fi
	go vet ./...
	go vet -C test/cluster ./...
	$(GOLANGCI_LINT) run ./...

drift: go ## Check that generated files and module files are up to date
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$$copy" && \
	cd "$$copy" && $(MAKE) --no-print-directory generate manifests tidy && \
	diff -r "$$copy" "$(CURDIR)" --exclude=.git --exclude=$(BIN) && echo "generated files are up to date"

tidy: go ## Bring go.mod and go.sum up to date
	go mod tidy
	go mod tidy -C test/cluster

fmt: ## Format the code
	gofmt -w cmd pkg deploy test

clean: ## Remove what was built
	rm -rf $(BIN)
