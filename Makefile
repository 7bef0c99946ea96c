# Each target is one or two commands that can be typed as well. Set-up of the machine: .setup/all.
.DEFAULT_GOAL := help
.PHONY: help demo dev test lint fmt bench clean setup-test
SHELL := bash
export PATH := $(shell .setup/path):$(PATH)
export CLUSTER
step := .setup/step
frontend := -p gpuaas-frontend
wasm := --target wasm32-unknown-unknown --lib
cluster := $${CARGO_TARGET_DIR:-target}/debug/local-cluster

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## the portal with a demo fleet; CLUSTER=local: with a real control plane on this machine
	@.setup/all $(and $(filter local,$(CLUSTER)),cluster)
	@$(step) pages .setup/frontend
	@$(step) build cargo build --quiet -p gpuaas -p gpuaas-kit
	@.setup/demo

dev: ## as demo, rebuilt and restarted on every change of a source file
	@.setup/all dev $(and $(filter local,$(CLUSTER)),cluster)
	@.setup/dev

test: setup-test lint ## everything: set-up, formatting, lints, tests with real services, the browser
	@$(step) pages .setup/frontend
	@$(step) 'build for tests' cargo build --quiet -p gpuaas -p gpuaas-kit
	@$(step) tests $(cluster) exec -- cargo nextest run --workspace
	@$(step) 'tests of the pages' cargo nextest run $(frontend) --features ssr,sample
	@test ! -e e2e/package.json || $(step) browser npm --prefix e2e test

setup-test:
	@.setup/all test

lint: ## formatting and clippy, warnings refused
	@$(step) formatting cargo fmt --all --check
	@$(step) clippy cargo clippy --quiet --workspace --exclude gpuaas-frontend --all-targets -- -D warnings
	@$(step) 'clippy, pages on the server' cargo clippy --quiet $(frontend) --features ssr,sample --all-targets -- -D warnings
	@$(step) 'clippy, pages in the browser' cargo clippy --quiet $(frontend) --features hydrate $(wasm) -- -D warnings

fmt: ## format all Rust sources
	cargo fmt --all

bench: setup-test ## figures beside those of the peers; ARGS='--tenants 1000' for the full size
	@$(step) 'build for the bench' cargo build --quiet --profile bench-run -p gpuaas-bench
	@cargo run --quiet --profile bench-run -p gpuaas-bench -- $(ARGS)

clean: ## remove what was built and all state of the demo; the cache for many clones (.setup/lib) stays
	cargo clean --quiet
	rm -rf .run frontend/node_modules e2e/node_modules
