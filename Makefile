# Works with make, git and Go alone. Everything else is built from Go modules,
# into git-ignored folders, when the go.mod that pins it changes.

FUZZTIME = 10s
ARGS =
PEERS =
TESTFLAGS =

# make lint vets every package, with more rules than go test does by itself, and go test would do it again for each dependency.
GOTEST = go test -vet=off

LINT = bin/golangci-lint
RELEASE = bin/release/goreleaser
IMAGE = relist:latest
SQLIMAGE = relist-sql:latest
PLATFORMS = linux/amd64 linux/arm64
BUILDER = docker
PROGRAMS = test/conformance/bin/kubectl test/conformance/bin/kube-apiserver test/conformance/bin/etcd

.PHONY: help demo demo-sql test test-library test-modules test-long lint audit fuzz bench bench-smoke recovery size postgres conformance peers conformance-bin mutants docs-site site-test cluster release release-check release-snapshot image ci clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: ## mirror a server that misbehaves, and show what happens
	go run ./cmd/relist demo $(ARGS)

demo-sql: ## copy a server's objects into a file of SQLite, and query it
	@set -e; dir=$$(mktemp -d); trap 'kill $$server 2>/dev/null || true; rm -rf "$$dir"' EXIT; \
	go build -o $$dir/relist ./cmd/relist; \
	(cd cmd/relist-sql && go build -o $$dir/relist-sql .); \
	$$dir/relist serve --objects 1000 --pods 300 --rate 20 >$$dir/serve & server=$$!; \
	until grep -q '^faults ' $$dir/serve; do kill -0 $$server; sleep 0.1; done; \
	url=$$(sed -n 's/^serving //p' $$dir/serve | head -n 1); \
	$$dir/relist-sql mirror pods,configmaps -A --server $$url --to sqlite:$$dir/demo.db --columns pods:node=.spec.nodeName --once; \
	$$dir/relist-sql query $$dir/demo.db 'SELECT node, count(*) FROM pods GROUP BY node'; \
	$$dir/relist-sql status $$dir/demo.db

# The race detector needs a C compiler that can find its headers, and would sleep for a second at the end of each package. With
# -short, simulations play fewer seeds. The explorer searches less with the race detector, and TestHerd and TestFleet, thousands of
# reflectors in one bubble, are too much for it: test-long does without the detector, and plays everything.
test: ## run the tests of the library, the command, the metrics and the copies in databases
	@race=-race; dir=$$(mktemp -d) || exit 1; \
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' >$$dir/probe.c; \
	if $$(go env CC) -o $$dir/probe $$dir/probe.c >/dev/null 2>&1; then \
		export CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $$GORACE"; \
	else \
		race=; echo 'make test: no C compiler that works, so without the race detector'; \
	fi; \
	rm -rf $$dir; $(MAKE) --no-print-directory -j2 RACE=$$race test-library test-modules

# Side by side, so that no core waits for the last package of a module.
test-library:
	$(GOTEST) $(RACE) -short -shuffle=on $(TESTFLAGS) ./...

test-modules:
	cd durable && $(GOTEST) $(RACE) -short -shuffle=on $(TESTFLAGS) ./...
	cd cmd/relist-sql && $(GOTEST) $(RACE) -short -shuffle=on $(TESTFLAGS) ./...
	cd prometheus && $(GOTEST) $(RACE) -short -shuffle=on $(TESTFLAGS) ./...
	cd test && $(GOTEST) -short $(TESTFLAGS) ./prometheus
	cd test && $(GOTEST) $(RACE) -short -shuffle=on $(TESTFLAGS) ./simulation

test-long: ## run the tests without the race detector, every simulation with all its seeds, and every search of the explorer
	$(GOTEST) -shuffle=on -timeout 30m $(TESTFLAGS) ./...
	cd durable && $(GOTEST) -shuffle=on -timeout 30m $(TESTFLAGS) ./...
	cd cmd/relist-sql && $(GOTEST) -shuffle=on -timeout 30m $(TESTFLAGS) ./...
	cd prometheus && $(GOTEST) -shuffle=on -timeout 30m $(TESTFLAGS) ./...
	cd test && $(GOTEST) -shuffle=on -timeout 30m $(TESTFLAGS) ./prometheus ./simulation

lint: $(LINT) ## run the linters over every module of ours
	$(LINT) run ./...
	cd durable && ../$(LINT) run --config ../.golangci.yml ./...
	cd cmd/relist-sql && ../../$(LINT) run --config ../../.golangci.yml ./...
	cd prometheus && ../$(LINT) run --config ../.golangci.yml ./...
	cd test && ../$(LINT) run --config ../.golangci.yml ./...

audit: ## look for known vulnerabilities in what the modules require; make lint has gosec and staticcheck
	cd test/tools/lint && go build -trimpath -o ../../../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	bin/govulncheck ./... && (cd prometheus && ../bin/govulncheck ./...) && (cd durable && ../bin/govulncheck ./...) && cd cmd/relist-sql && ../../bin/govulncheck ./...

fuzz: ## run each fuzz target for FUZZTIME (10s)
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

bench: ## measure relist beside client-go; ARGS are those of test/bench/cmd/compare
	cd test/bench && go run ./cmd/compare $(ARGS)

bench-smoke: ## run every benchmark with few objects, to see that it works
	cd test/bench && go test ./... && go run ./cmd/compare -smoke && go run ./cmd/relaybench -smoke

recovery: ## measure how soon a copy is fresh again after a fault, and what a server is asked for; ARGS=-update writes it down
	cd test && $(GOTEST) -count=1 -v -run '^(TestRecovery|TestRestoredBackups|TestMostInAMinute|TestHerd|TestFleet)$$' $(TESTFLAGS) ./simulation -trials=200 $(ARGS)

size: ## count lines, exported names, words, modules, traces and mutations
	@cd test && go run ./tools/size

postgres: ## test the copies of durable/postgres with a PostgreSQL of the tests' own; it must be installed
	cd test && $(GOTEST) -count=1 $(TESTFLAGS) ./postgres

conformance: conformance-bin ## run the suite against a real kube-apiserver, client-go and kubectl; PostgreSQL must be installed
	cd test && $(GOTEST) -count=1 -timeout 20m $(TESTFLAGS) ./conformance/... ./install

peers: ## play faults to relist and to other clients; PEERS=relist,client-go needs Go alone, ARGS='-runs 3 -update' writes test/clients.md
	cd test/conformance && go run ./peers -peers '$(PEERS)' $(ARGS)

mutants: ## break the library in many ways, and see that the golden traces notice
	cd test/conformance && $(GOTEST) -count=1 -v -timeout 20m $(TESTFLAGS) ./mutants

docs-site: ## build the site of the documents and of all traces, into dist/site; npm must be installed
	cd test/tools/site && npm ci --silent --no-audit --no-fund && go run . -out ../../../dist/site

# Installs Chromium from Debian's packages where it can, and axe-core from npm; the test says what is missing.
site-test: ## open the pages of the site in Chromium: they step, complain of nothing, fit a telephone, and axe-core finds nothing serious
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium >/dev/null; }
	cd test/tools/site && npm ci --silent --no-audit --no-fund && go vet . && go test -count=1 -timeout 14m $(TESTFLAGS) .

conformance-bin: $(PROGRAMS) ## build kube-apiserver, etcd and kubectl; the first time takes 5 minutes

cluster: conformance-bin ## run a real kube-apiserver on loopback until interrupted
	cd test/conformance && go build -o bin/cluster ./cmd/cluster && exec bin/cluster $(ARGS)

release-check: ## see that the modules can be tagged: their versions, what each tag holds, and what is installed and imported by version
	cd test && $(GOTEST) -count=1 -v -run '^TestInstallByVersion$$' $(TESTFLAGS) ./install

release-snapshot: $(RELEASE) ## build what a release has, into dist/: archives, checksums, lists of what is in them
	$(RELEASE) release --snapshot --clean

release: $(RELEASE) ## publish a draft of the release of the tag that is checked out
	$(RELEASE) release --clean

image: ## build container images of the commands, called IMAGE (relist:latest) and SQLIMAGE (relist-sql:latest), with BUILDER (docker, podman or buildah)
	@set -e; for platform in $(PLATFORMS); do \
		echo "build $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -ldflags '-s -w' -o bin/image/$$platform/relist ./cmd/relist; \
		(cd cmd/relist-sql && CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -ldflags '-s -w' -o ../../bin/image/$$platform/relist-sql .); \
	done
	$(BUILDER) build --build-arg TARGETPLATFORM=linux/$$(go env GOARCH) --tag $(IMAGE) --file cmd/deploy/Dockerfile bin/image
	$(BUILDER) build --build-arg TARGETPLATFORM=linux/$$(go env GOARCH) --tag $(SQLIMAGE) --file cmd/deploy/relist-sql.Dockerfile bin/image

ci: ## what has to pass before a change goes in
	.ci/run

clean: ## remove everything that was built
	rm -rf bin dist test/conformance/bin

test/conformance/bin/kubectl test/conformance/bin/kube-apiserver: test/conformance/kubernetes/go.mod test/conformance/kubernetes/go.sum
	cd test/conformance/kubernetes && version=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes) && \
		go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version" -o ../bin/$(@F) k8s.io/kubernetes/cmd/$(@F)
	@touch $@

test/conformance/bin/etcd: test/conformance/etcd/go.mod test/conformance/etcd/go.sum
	cd test/conformance/etcd && go build -trimpath -ldflags '-s -w' -o ../bin/etcd go.etcd.io/etcd/server/v3
	@touch $@

$(LINT): test/tools/lint/go.mod test/tools/lint/go.sum
	cd test/tools/lint && go build -trimpath -ldflags '-s -w' -o ../../../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(RELEASE): test/tools/release/go.mod test/tools/release/go.sum
	cd test/tools/release && go build -trimpath -ldflags '-s -w' -o ../../../bin/release/ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod && \
		go build -trimpath -ldflags '-s -w' -o ../../../bin/release/goreleaser github.com/goreleaser/goreleaser/v2
	@touch $@
