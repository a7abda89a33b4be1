package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// client is a way of using a library.
type client struct {
	name  string // "kube-rs-stream"
	label string // heads its column
	args  []string
	only  []string // the faults that are played to it; all if there are none
	json  []string // arguments that make it ask for JSON, the only encoding of custom resources; empty if it always does

	program *program
}

// program is what a folder of this one has.
type program struct {
	folder  string
	library string   // its name in its package registry
	tools   []string // what has to be on the PATH
	slow    bool     // it takes seconds of CPU to start
	build   [][]string
	command []string

	pinned  string         // the file that pins the library, beside the program
	version *regexp.Regexp // finds the version there
}

var relistProgram = &program{
	folder: "relist", library: "github.com/relist-go/relist", tools: []string{"go"},
	build:   [][]string{{"go", "build", "-o", "peer", "."}},
	command: []string{"./peer"},
}

var fabric8Program = &program{
	folder: "fabric8", library: "io.fabric8:kubernetes-client", tools: []string{"java", "mvn"}, slow: true,
	build:   [][]string{{"mvn", "-q", "-B", "package"}},
	command: []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", "target/classes:target/lib/*", "peers.Peer"},
	pinned:  "pom.xml", version: regexp.MustCompile(`<artifactId>kubernetes-client</artifactId>\s*<version>([^<]+)<`),
}

var kubeRSProgram = &program{
	folder: "kube-rs", library: "kube", tools: []string{"cargo"},
	build:   [][]string{{"cargo", "build", "--release", "--locked", "--quiet"}},
	command: []string{"target/release/peer"},
	pinned:  "Cargo.lock", version: regexp.MustCompile(`name = "kube"\nversion = "([^"]+)"`),
}

// clients are all that are measured, in the order of the columns.
var clients = []client{
	{name: "relist", label: "relist", program: relistProgram},
	{name: "relist-websocket", label: "relist, WebSocket", args: []string{"-websocket"}, program: relistProgram},
	{name: "relist-verify", label: "relist, verifying once a minute", args: []string{"-verify", "1m"}, only: []string{"restored", "restored-outage", "missed-deletion"}, program: relistProgram},
	{name: "client-go", label: "client-go", json: []string{"-json"}, program: &program{
		folder: "client-go", library: "k8s.io/client-go", tools: []string{"go"},
		build:   [][]string{{"go", "build", "-o", "peer", "."}},
		command: []string{"./peer"},
		pinned:  "../../../go.mod", version: regexp.MustCompile(`\tk8s.io/client-go (\S+)`),
	}},
	{name: "fabric8", label: "fabric8, WebSocket", program: fabric8Program},
	{name: "fabric8-http", label: "fabric8, HTTP", args: []string{"--http"}, program: fabric8Program},
	{name: "kube-rs", label: "kube-rs", program: kubeRSProgram},
	{name: "kube-rs-stream", label: "kube-rs, streaming lists", args: []string{"--streaming"}, program: kubeRSProgram},
	{name: "client-node", label: "client-node", program: &program{
		folder: "client-node", library: "@kubernetes/client-node", tools: []string{"npm"}, slow: true,
		build:   [][]string{{"npm", "ci", "--silent"}},
		command: []string{"node_modules/.bin/node", "peer.mjs"},
		pinned:  "package.json", version: regexp.MustCompile(`"@kubernetes/client-node": "([^"]+)"`),
	}},
	{name: "python", label: "Python", program: &program{
		folder: "python", library: "kubernetes", tools: []string{"python3"}, slow: true,
		build:   [][]string{{"python3", "-m", "venv", "venv"}, {"venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"}},
		command: []string{"venv/bin/python", "peer.py"},
		pinned:  "requirements.txt", version: regexp.MustCompile(`kubernetes==(\S+)`),
	}},
}

// isRelist reports whether this is what the others are compared with.
func (c client) isRelist() bool { return c.program == relistProgram }

// release says which version of the library it is.
func (p *program) release(home string) (string, error) {
	if p.pinned == "" {
		return "this version", nil
	}
	text, err := os.ReadFile(filepath.Join(home, p.folder, p.pinned))
	if err != nil {
		return "", err
	}
	found := p.version.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s/%s pins no %s", p.folder, p.pinned, p.library)
	}
	return string(found[1]), nil
}

// build builds the programs of clients, and returns those that could be. It says what it leaves
// out, which is an error if they were asked for by name.
func build(ctx context.Context, home string, wanted []client, byName bool, out io.Writer) ([]client, error) {
	var able []client
	built := make(map[*program]error)
	for _, c := range wanted {
		p := c.program
		err, known := built[p]
		if !known {
			say(out, "building %s\n", p.folder)
			err = p.make(ctx, home)
			built[p] = err
		}
		switch {
		case err != nil && byName:
			return nil, fmt.Errorf("build %s: %w", c.name, err)
		case err != nil:
			say(out, "LEFT OUT: %s: %v\n", c.name, err)
		default:
			able = append(able, c)
		}
	}
	if len(able) == 0 {
		return nil, errors.New("nothing can be built here")
	}
	return able, ctx.Err()
}

func (p *program) make(ctx context.Context, home string) error {
	for _, tool := range p.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("needs %s: %w", strings.Join(p.tools, " and "), err)
		}
	}
	for _, words := range p.build {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = filepath.Join(home, p.folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, strings.Join(lines[max(0, len(lines)-10):], "\n"))
		}
	}
	return nil
}

// start returns the process of a client that is to go by a kubeconfig. It does not inherit what
// would lead it elsewhere.
func (c client) start(ctx context.Context, home, kubeconfig string, json bool) (*exec.Cmd, error) {
	dir, err := filepath.Abs(filepath.Join(home, c.program.folder))
	if err != nil {
		return nil, err
	}
	words := slices.Concat(c.program.command, c.args)
	if json {
		words = append(words, c.json...)
	}
	if strings.Contains(words[0], "/") {
		words[0] = filepath.Join(dir, words[0])
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYTHONUNBUFFERED=1"}
	return cmd, nil
}
