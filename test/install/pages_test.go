//go:build unix

package install

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// A step is a command of a page, and what shows that it has worked. Without any of these, it has to
// end by itself with code 0.
type step struct {
	command string
	prints  string // this, after which it is interrupted, as by Ctrl-C
	asks    string // a request of the server's log that has this, after which it is interrupted
	ends    string // this, and it ends by itself
	serves  string // this, with its address, in place of 127.0.0.1:8090; it runs until the end of the test
}

// pages are the commands that are run, by page and in the order of the page. The folder is the
// clone, or that of an earlier step.
var pages = []struct {
	page  string
	steps []step
}{
	{"README.md", []step{
		{command: "make demo", ends: "relist's copy matches the server"},
		{command: "go run ./examples/quickstart", prints: `\+ \S+ settings-`},
	}},
	{"cmd/README.md", []step{
		{command: "go run ./cmd/relist mirror pods -A", prints: "synced +5 objects"},
		{command: "go run ./cmd/relist record pods -A --scrub -o pods.txt", asks: "/pods.*watch=true"},
		{command: "go run ./cmd/relist replay --html pods.txt > pods.html"},
		{command: "go run ./cmd/relist serve --listen 127.0.0.1:8080", prints: "faults http"},
	}},
	{"docs/reading-traces.md", []step{
		{command: "go run ./cmd/relist replay --html testdata/watch-refused.txt > refused.html"},
	}},
	{"docs/incidents/README.md", []step{
		{command: "go run ./cmd/relist replay --html docs/incidents/testdata/beside/1-idle-websocket.txt > beside.html"},
	}},
	{"docs/smallest-client.md", []step{
		{command: "go run ./cmd/relist serve --listen 127.0.0.1:8080 --objects 20 --rate 1", prints: "faults http"},
		{command: "go run ./examples/smallest/print http://127.0.0.1:8080/api/v1/configmaps", prints: `Replaced \S+`},
	}},
	{"server/README.md", []step{
		{command: "go run ./cmd/relist serve --listen 127.0.0.1:8090 --objects 20 --rate 1 --window 10 --replicas 2 --no-progress", serves: `serving http://(\S+)`},
		{command: "C=http://127.0.0.1:8090/api/v1"},
		{command: "F=http://127.0.0.1:8090/_faults"},
		{command: `curl "$C/configmaps?watch=true&resourceVersion=1"`, ends: "ERROR.*410"},
		{command: `curl "$C/pods?resourceVersion=20"`, prints: "Too large resource version"}, // its code is an error of curl,
		{command: `curl -X POST "$F/refill?resource=configmaps"`},
		{command: `curl -X POST "$F/freeze?replica=replica-1"`, ends: "frozen"},
	}},
	{"docs/getting-started.md", []step{
		{command: "go run ./cmd/relist serve --listen 127.0.0.1:8080 --objects 20 --rate 1", prints: "faults http"},
		{command: "cd .. && mkdir watch && cd watch && go mod init example.com/watch"},
		{command: "go mod edit -replace github.com/relist-go/relist=../relist"},
		{command: "cat >test.kubeconfig <<END"},
		{command: "export KUBECONFIG=$PWD/test.kubeconfig"},
		{command: "cp ../relist/examples/quickstart/main.go . && go mod tidy && go run .", prints: `\+ \S+ settings-`},
	}},
	{"docs/guides/operator.md", []step{
		{command: "cd .. && mkdir operator && cd operator && go mod init example.com/operator"},
		{command: "go mod edit -replace github.com/relist-go/relist=../relist"},
		{command: "cp ../relist/examples/operator/main.go ../relist/examples/operator/main_test.go . && go mod tidy && go test .", ends: "ok"},
	}},
	{"durable/databases.md", []step{
		{command: "go mod edit -replace github.com/relist-go/relist=../relist -replace github.com/relist-go/relist/durable=../relist/durable"},
	}},
	{"docs/guides/types-and-encodings.md", []step{
		{command: "cd ../relist && go build -tags nethttpomithttp2 -o /tmp/slim ./examples/slim"},
	}},
	{"server/relay/README.md", []step{
		{command: "go run ./cmd/relist serve --listen 127.0.0.1:8080 --objects 1000 --rate 10", prints: "faults http"},
		{command: "go run ./cmd/relist relay configmaps --server http://127.0.0.1:8080 --anonymous --listen 127.0.0.1:8090", serves: `serving http://(\S+)`},
		{command: "go run ./cmd/relist mirror configmaps -A --server http://127.0.0.1:8090 --for 10s", ends: "summary"},
	}},
	{"docs/operations.md", []step{
		{command: "go run ./cmd/relist mirror pods -A -o none --exit-on-sync", ends: "objects +5"},
	}},
	{"docs/architecture.md", []step{
		{command: "go test ./docs/architecture -run TestRoadOfAnEvent$ -v", ends: "PASS: TestRoadOfAnEvent"},
	}},
	{"docs/testing-recipes.md", []step{
		{command: "cd examples/tested && mkdir -p testdata"},
		{command: "go run ../../cmd/relist record configmaps -A --scrub -o testdata/recorded.txt", asks: "/configmaps.*watch=true"},
		{command: "go test -run TestTraces -update", ends: "ok"},
		{command: "go test -run TestTraces", ends: "ok"},
		{command: "cd ../.. && go build -o /tmp/relist ./cmd/relist"},
		{command: "F=http://127.0.0.1:8080/_faults"},
		{command: "C=http://127.0.0.1:8080/api/v1/namespaces/shop/configmaps"},
		{command: "curl -o /dev/null --retry 20 --retry-connrefused $F/"},
		{command: `curl -H 'X-Relist-Faults: off' -H 'Content-Type: application/json' -d '{"metadata":{"name":"tea"}}' $C`, ends: `"name": ?"tea"`},
		{command: `curl -X POST "$F/hold?verb=watch"`},
		{command: `curl -X POST "$F/end"`},
		{command: "curl -X DELETE -H 'X-Relist-Faults: off' $C/tea"},
		{command: `curl -X POST "$F/compact"`},
		{command: `curl -X POST "$F/resume"`},
	}},
}

// notRun are the other commands of pages, and why this test does not run them.
var notRun = []struct{ page, commands, because string }{
	{"README.md", "git clone ", "the test itself clones the work tree"},
	{"README.md", "make test", "it is a step of .ci/run"},
	{"CONTRIBUTING.md", "make cluster", "the suite of test/conformance/cluster runs it"},
	{"CONTRIBUTING.md", "for module |git push ", "they publish a release"},
	{"cmd/deploy/README.md", "", "test/conformance/deploy reads the files, and applies them to a kube-apiserver; an image needs Docker"},
	{"apitest/README.md", "", "apitest.TestDocumentedFaultsWork sends each fault, and test/conformance/kubectl uses kubectl with the server"},
	{"cmd/README.md", "mkdir |ln |kubectl ", "test/conformance/kubectl has the plugin"},
	{"test/clients.md", "make peers|relist serve|curl ", "an hour, with libraries in six languages"},
	{"docs/getting-started.md", "git clone ", "the test itself clones the work tree"},
	{"docs/guides/operator.md", "git clone |kubectl |go run ", "test/conformance/deploy applies the files to a kube-apiserver, and runs the program"},
	{"durable/README.md", "", "cmd/relist-sql runs the blocks of that page"},
	{"docs/incidents/README.md", "go test ", "make test runs the same packages"},
	{"docs/performance.md", "make bench|cd test/bench|go run ", "hours; make bench-smoke, a step of .ci/run, runs each case"},
	{"server/relay/README.md", "cd test/bench|go run ./cmd/relaybench", "minutes; make bench-smoke, a step of .ci/run, runs a short one"},
	{"server/relay/README.md", "openssl |go run ./cmd/relist relay pods|kubectl ", "they need a cluster with RBAC; test/conformance/peers has kubectl behind a relay"},
	{"docs/testing-recipes.md", "curl --fail-with-body ", "no client of this test watches at that moment; apitest.TestWaitForWatches asks, too"},
	{"prometheus/README.md", "go (get|mod)", "TestInstallByVersion requires the module"},
}

// TestCommandsOfPages copies the commands of the pages into a shell, on a clone, as readers do.
// Each command of a page is either run or has a reason. The server is one for all, so the address
// in the pages is replaced by its own.
func TestCommandsOfPages(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "relist")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", "--no-hardlinks", repository, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	texts := textsOf(t, clone)
	commands := map[string][]string{}
	for page, text := range texts {
		commands[page] = commandsOf(text)
	}
	checkEachHasItsPlace(t, texts, commands)

	sh := &shell{dir: clone, variables: map[string]string{}}
	server := sh.start(t, "go run ./cmd/relist serve --listen 127.0.0.1:8080 --objects 20 --pods 5 --rate 5 --log")
	t.Cleanup(server.interrupt)
	url := server.await(t, `(?m)^serving http://(\S+)$`, 0)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, kubeconfig, `{apiVersion: v1, kind: Config, current-context: test, contexts: [{name: test, context: {cluster: test}}],
 clusters: [{name: test, cluster: {server: "http://`+url+`"}}]}
`)
	sh.address, sh.variables["KUBECONFIG"] = url, kubeconfig
	server.await(t, `(?m)^faults `, 0)
	for _, p := range pages {
		for _, s := range p.steps {
			full := s.command
			for _, c := range commands[p.page] { // that of the page may have lines that follow
				if strings.HasPrefix(c, s.command) {
					full = c
				}
			}
			if !sh.run(t, server, s, full) {
				t.Errorf("%s: %s does not work", p.page, s.command)
			}
		}
	}
}

// checkEachHasItsPlace compares the commands of the pages with the tables above, both ways.
func checkEachHasItsPlace(t *testing.T, texts map[string]string, commands map[string][]string) {
	t.Helper()
	for page, all := range commands {
		for _, command := range all {
			if !isRun(page, command) && !hasReason(page, command) {
				t.Errorf("%s: %q is neither run nor has it a reason", page, command)
			}
		}
	}
	for _, p := range pages {
		for _, s := range p.steps {
			inline := strings.Contains(texts[p.page], "`"+s.command+"`")
			if !inline && !slices.ContainsFunc(commands[p.page], s.isOf) {
				t.Errorf("%s has no command %q", p.page, s.command)
			}
		}
	}
	for _, p := range notRun {
		if len(commands[p.page]) == 0 {
			t.Errorf("%s has no commands, and a reason why they are not run", p.page)
		}
	}
}

func isRun(page, command string) bool {
	for _, p := range pages {
		for _, s := range p.steps {
			if p.page == page && s.isOf(command) {
				return true
			}
		}
	}
	return false
}

// isOf reports whether a step runs a command of a page. It may go to a folder first, or begin with
// what the page leaves out.
func (s step) isOf(command string) bool {
	line, _, _ := strings.Cut(command, "\n")
	return strings.HasSuffix(s.command, strings.TrimPrefix(line, "relist "))
}

func hasReason(page, command string) bool {
	for _, p := range notRun {
		if p.page == page && regexp.MustCompile(`^(`+p.commands+`)`).MatchString(command) {
			return true
		}
	}
	return false
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	indented   = regexp.MustCompile(`(?m)^    ((?:go|make|relist|curl|kubectl|cd|git|[A-Z]=\S+) ?.*)$`)
	comment    = regexp.MustCompile(`(^| +)#.*$`)
)

// textsOf returns the pages of a clone.
func textsOf(t *testing.T, clone string) map[string]string {
	t.Helper()
	files, err := exec.CommandContext(t.Context(), "git", "-C", clone, "ls-files", "*.md").Output()
	must.OK(t, err)
	texts := map[string]string{}
	for page := range strings.FieldsSeq(string(files)) {
		text, err := os.ReadFile(filepath.Join(clone, page))
		must.OK(t, err)
		texts[page] = string(text)
	}
	return texts
}

// commandsOf returns the commands of a page, without their comments.
func commandsOf(text string) (commands []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		commands = append(commands, commandsIn(block[1])...)
	}
	for _, line := range indented.FindAllStringSubmatch(text, -1) {
		commands = append(commands, comment.ReplaceAllString(line[1], ""))
	}
	return commands
}

// commandsIn returns the commands of a block: a line each, or more if a line continues or has a
// here-document.
func commandsIn(block string) (commands []string) {
	for continued := false; block != ""; {
		var line string
		line, block, _ = strings.Cut(block, "\n")
		if strings.HasSuffix(line, "<<END") {
			var document string
			document, block, _ = strings.Cut(block, "\nEND\n")
			line += "\n" + document + "\nEND"
		} else {
			line = comment.ReplaceAllString(line, "")
		}
		if line == "" {
			continue
		}
		if continued {
			commands[len(commands)-1] += "\n" + line
		} else {
			commands = append(commands, line)
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return commands
}

// A shell remembers the folder and the variables from one command to the next.
type shell struct {
	dir       string
	address   string // of the server, in place of 127.0.0.1:8080 in the pages
	relay     string // of the process that serves at 127.0.0.1:8090 in the pages
	variables map[string]string
}

// run runs a step, and reports whether it worked. command is the step's, with what follows in the
// page.
func (sh *shell) run(t *testing.T, server *process, s step, command string) bool {
	t.Helper()
	asked := len(server.printed())
	p := sh.start(t, strings.Replace(command, "curl ", "curl -sS --fail-with-body ", 1))
	switch {
	case s.prints != "":
		p.await(t, s.prints, 0)
		p.interrupt()
		return true
	case s.asks != "":
		server.await(t, s.asks, asked)
		p.interrupt()
		return true
	case s.serves != "":
		t.Cleanup(p.interrupt)
		sh.relay = p.await(t, s.serves, 0)
		return true
	}
	err := p.wait()
	if err != nil || !regexp.MustCompile(s.ends).MatchString(p.printed()) {
		t.Logf("%s: %v\n%s", s.command, err, p.printed())
		return false
	}
	sh.remember(p.printed())
	return true
}

// remember takes the folder and the variables, which each command prints when it has ended.
func (sh *shell) remember(printed string) {
	for _, line := range regexp.MustCompile(`(?m)^relist-test (\w+)=(.*)$`).FindAllStringSubmatch(printed, -1) {
		if line[1] == "PWD" {
			sh.dir = line[2]
		} else {
			sh.variables[line[1]] = line[2]
		}
	}
}

// process is a command that runs.
type process struct {
	cmd   *exec.Cmd
	wrote chan struct{} // has one if something was printed since the last look
	ended chan struct{} // closed when it has ended, with err
	err   error

	mu  sync.Mutex
	out bytes.Buffer
}

// start starts a command in a shell, with a group of its own, because an interrupt is for what it
// starts, too.
func (sh *shell) start(t *testing.T, command string) *process {
	t.Helper()
	command = regexp.MustCompile(`--listen \S+`).ReplaceAllString(command, "--listen 127.0.0.1:0")
	command = strings.NewReplacer("127.0.0.1:8080", sh.address, "127.0.0.1:8090", sh.relay).Replace(command)
	p := &process{wrote: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-c",
		"set -e\n"+command+"\n"+`for name in PWD KUBECONFIG F C; do echo "relist-test $name=${!name}"; done`)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = sh.dir, p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Env = os.Environ()
	for name, value := range sh.variables {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	must.OK(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }) // nothing, if it has ended
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.wrote <- struct{}{}:
	default:
	}
	return p.out.Write(b)
}

func (p *process) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// patience bounds the wait for something that must happen; compiling may take long.
const patience = 5 * time.Minute

// await waits until a process has printed something, after so many bytes, and returns the last
// group of the expression.
func (p *process) await(t *testing.T, expression string, after int) string {
	t.Helper()
	wanted := regexp.MustCompile(expression)
	limit := time.After(patience)
	for {
		found := wanted.FindStringSubmatch(p.printed()[after:])
		if found != nil {
			return found[len(found)-1]
		}
		select {
		case <-p.wrote:
		case <-p.ended:
			if !wanted.MatchString(p.printed()[after:]) {
				t.Fatalf("%q was not printed, but\n%s", expression, p.printed())
			}
		case <-limit:
			t.Fatalf("%q is not printed, but\n%s", expression, p.printed())
		}
	}
}

// wait waits for the end, or ends the process.
func (p *process) wait() error {
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		p.interrupt()
		return context.DeadlineExceeded
	}
}

// interrupt does what Ctrl-C does, and waits for the end.
func (p *process) interrupt() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}
