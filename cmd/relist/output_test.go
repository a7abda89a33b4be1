package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/must"
)

func patchConfigMap(t *testing.T, server *apitest.Server, namespace, name string, patch map[string]any) {
	t.Helper()
	if _, err := server.Patch("configmaps", namespace, name, patch); err != nil {
		t.Fatal(err)
	}
}

func TestMirrorDiff(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	text := start(t, "mirror", "cm", "-A", "--server", url, "--diff")
	text.await("watch ")
	lines := start(t, "mirror", "cm", "-A", "--server", url, "--diff", "-o", "json")
	lines.await(`"kind":"watch"`)
	patchConfigMap(t, server, "a", "one", map[string]any{"data": map[string]any{"k": "v"}, "metadata": map[string]any{"labels": map[string]any{"app": nil, "x": "y"}}})
	text.await(".metadata.labels.x")
	text.await("+ .data: {\"k\":\"v\"}")
	text.await("- .metadata.labels.app: \"one\"")
	lines.await(`"changes":[{"path":".data","new":{"k":"v"}},{"path":".metadata.labels.app","old":"one"},{"path":".metadata.labels.x","new":"y"}]`)
	for _, p := range []*process{text, lines} {
		if r := p.interrupt(); r.status != cli.ExitOK || r.stderr != "" {
			t.Errorf("status %d, stderr %q", r.status, r.stderr)
		}
	}
}

func TestMirrorPrintsObjects(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	for _, tt := range []struct{ args, want string }{
		{"-o yaml", "  name: one\n"},
		{"-o json-object", `{"type":"Replaced","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{`},
		{"-o yaml --show-initial=false", ""},
	} {
		args := append([]string{"mirror", "cm", "-A", "--server", url, "--exit-on-sync"}, strings.Fields(tt.args)...)
		r := command(t, args...)
		if r.status != cli.ExitOK || r.stderr != "" || !strings.Contains(r.stdout, tt.want) || tt.want == "" && r.stdout != "" {
			t.Errorf("%s: status %d, stderr %q, stdout\n%s", tt.args, r.status, r.stderr, r.stdout)
		}
		if strings.Contains(r.stdout, "summary") || strings.Contains(r.stdout, "mirroring") {
			t.Errorf("%s: stdout has more than objects:\n%s", tt.args, r.stdout)
		}
	}
}

// A later list prints what has changed, and counts the rest.
func TestMirrorPrintsOnlyWhatAListChanges(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	createConfigMap(t, server, "a", "two")
	p := start(t, "mirror", "cm", "-A", "--server", url)
	p.await("watch ")
	must.OK(t, server.Refuse(0))
	p.await("watchEnd")
	patchConfigMap(t, server, "a", "two", map[string]any{"data": map[string]any{"k": "v"}})
	server.Compact()
	must.OK(t, server.Resume())
	p.await("Replaced a/two")
	r := p.interrupt()
	if strings.Contains(r.stdout, "a/one") || strings.Count(r.stdout, "a/two") != 1 || strings.Count(r.stdout, "list       2 objects") != 2 {
		t.Errorf("got:\n%s", r.stdout)
	}
}

func TestMirrorSeveralResources(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm,pods", "services", "po", "-A", "--server", url, "--show-initial")
	p.await("watch      services")
	p.await("watch      pods")
	p.await("delta      configmaps  Replaced a/one")
	r := p.interrupt()
	for _, want := range []string{"mirroring configmaps, pods, services from ", "summary of configmaps\n", "summary of pods\n", "summary of services\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s", want, r.stdout)
		}
	}
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
	r = command(t, "mirror", "cm,pods", "-A", "--server", url, "--exit-on-sync", "-o", "json")
	lists := map[any]int{}
	for _, l := range jsonLines(t, r.stdout) {
		if l["kind"] == "list" || l["kind"] == "summary" {
			lists[l["resource"]]++
		}
	}
	if r.status != cli.ExitOK || lists["pods"] != 2 || lists["configmaps"] != 2 {
		t.Errorf("status %d, lists %v", r.status, lists)
	}
}

// One resource that is refused ends the command, and the error says which one.
func TestMirrorSeveralResourcesOneRefused(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	must.OK(t, server.FailNext(apitest.Failure{Verb: "list", Resource: "secrets", Status: 403}))
	r := command(t, "mirror", "configmaps,secrets", "-A", "--server", url, "-o", "json")
	if r.status != cli.ExitError || !strings.Contains(r.stderr, `cannot list resource "secrets"`) || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// Where stdout has no lines of the connection, stderr has one when requests begin to fail, and one
// when they work again, whatever the reason.
func TestMirrorTellsOutagesOnStderr(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"yaml", "json-object", "none"} {
		for reason, fail := range map[string]func(*apitest.Server) error{
			"unreachable": func(s *apitest.Server) error { return s.Refuse(0) },
			"failed": func(s *apitest.Server) error {
				err := s.FailNext(apitest.Failure{Verb: "watch", Status: 410, Reason: "Expired"}) // so that it lists again
				err = errors.Join(err, s.FailNext(apitest.Failure{Verb: "list", Status: 500, Count: 2}))
				s.CutWatches(0)
				return err
			},
		} {
			t.Run(output+" "+reason, func(t *testing.T) {
				t.Parallel()
				server, url := newServer(t, apitest.Options{})
				p := start(t, "mirror", "cm", "-A", "--server", url, "-o", output)
				err := server.WaitForWatches(t.Context(), "configmaps", 1)
				must.OK(t, errors.Join(err, fail(server)))
				began := `level=WARN msg="relist: failing" resource=configmaps reason=` + reason + ` error="`
				p.errors.Await(t, began)
				err = server.Resume()
				must.OK(t, errors.Join(err, server.WaitForWatches(t.Context(), "configmaps", 1)))
				createConfigMap(t, server, "shop", "tea")
				ended := `level=WARN msg="relist: recovered" resource=configmaps after=`
				p.errors.Await(t, ended)
				lines := strings.Count(p.errors.String(), "\n")
				if r := p.interrupt(); r.status != cli.ExitOK || lines != 2 || strings.Contains(r.stdout, "problem ") {
					t.Errorf("status %d, stderr %q, stdout %q", r.status, r.stderr, r.stdout)
				}
			})
		}
	}
}

func TestNothingOfAnObjectReachesTheTerminal(t *testing.T) {
	t.Parallel()
	url := newStrangeServer(t, false)
	for output, second := range map[string]string{ // the end of the second object's name
		"text --diff --show-initial": `\u202e2"`,
		"yaml":                       `\u202e2"`,
	} {
		args := append([]string{"mirror", "configmaps", "-A", "--server", url, "-o"}, strings.Fields(output)...)
		p := start(t, args...)
		p.await(second)
		told := p.errors
		if strings.HasPrefix(output, "text") {
			told = p.out
		}
		told.Await(t, "event of the unknown type")
		p.cancel()
		r := p.wait()
		checkTerminal(t, output, r.stderr)
		checkTerminal(t, output, r.stdout)
		if !strings.Contains(r.stdout, `\e]0;title`) && !strings.Contains(r.stdout, `x\x1b]0;title`) && !strings.Contains(r.stdout, `x\u001b]0;title`) {
			t.Errorf("%s: the name cannot be read:\n%s", output, r.stdout)
		}
	}
}

func TestStatusLine(t *testing.T) {
	a, b := &target{mirror: mirror.New(mirror.Options{})}, &target{label: "pods    ", mirror: mirror.New(mirror.Options{})}
	if got, want := statusLine([]*target{a}, time.Now()), "  stopped, 0 objects"; got != want {
		t.Errorf("got %q want %q", got, want)
	}
	if got, want := statusLine([]*target{b, b}, time.Now()), "  pods stopped, 0 objects; pods stopped, 0 objects"; got != want {
		t.Errorf("got %q want %q", got, want)
	}
}
