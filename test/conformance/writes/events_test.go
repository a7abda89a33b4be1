package writes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller/events"
	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestEvents: kubectl prints a thousand equal Events as one line, and kube-apiserver takes Events
// of every object.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	bakery, err := newWriter(t, c, "me").Create(t.Context(), &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bakery"}})
	must.OK(t, err)
	var log bytes.Buffer
	rec, err := events.New(newClient(t, c), events.Options{Controller: "example.com/shop-operator", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must.OK(t, err)
	taken := make(chan bool, 100)
	run := func(record func()) (requests int) {
		ctx, stop := context.WithCancel(hook.With[hook.Conn](t.Context(), func(func() bool) { taken <- true }))
		ended := make(chan error)
		go func() { ended <- rec.Run(ctx) }()
		record()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		requests = len(taken)
		for range requests {
			<-taken
		}
		return requests
	}

	requests := run(func() {
		for i := range 1000 {
			rec.Event(bakery, configMaps, events.Warning, "Unpublished", "Write", "the price of %s is no number", "bread")
			if i == 0 {
				taken <- <-taken
			}
		}
	})
	kubectl, err := cluster.FindProgram("kubectl")
	must.OK(t, err)
	cmd := exec.CommandContext(t.Context(), kubectl, "describe", "configmap", "bakery", "--kubeconfig="+c.Kubeconfig())
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	must.OK(t, err)
	t.Logf("after %d requests:\n%s", requests, out)
	line := regexp.MustCompile(`\n  Warning  Unpublished  \d+s \(x1000 over \d+s\)  example\.com/shop-operator  the price of bread is no number\n$`)
	if requests != 2 || strings.Count(string(out), "Unpublished") != 1 || !line.Match(out) {
		t.Errorf("after %d requests, kubectl describe prints\n%s", requests, out)
	}

	names := []string{"bakery", "system:node", "Upper", strings.Repeat("n", 253)}
	requests = run(func() {
		for _, name := range names {
			role := object.Type{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles", Kind: "ClusterRole", ClusterScoped: true}
			rec.Event(&metav1.ObjectMeta{Name: name, UID: "1"}, role, events.Normal, "Granted", "Write", "%s", strings.Repeat("ä", 600)+"\xff")
		}
	})
	if requests != len(names) || log.Len() > 0 {
		t.Errorf("%d of %d requests were successful; logged %s", requests, len(names), log.String())
	}
}
