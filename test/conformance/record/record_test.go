package record

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestRecord records what the API server says while objects change, while it is down, and when it
// has forgotten what the client saw last. ConfigMaps come from its watch cache, Secrets from etcd
// itself. Each recording replays at once, and so does each that was scrubbed.
func TestRecord(t *testing.T) {
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{cluster.Uncached("secrets")}})
	w := newWriter(t, c)
	for i := range 3 {
		w.create(fmt.Sprintf("ledger-%d", i))
	}

	type recording struct {
		*recorder
		resource string
		scrub    bool
	}
	var recordings []recording
	for _, resource := range []string{"configmaps", "secrets"} {
		for _, scrub := range []bool{false, true} {
			r := start(t, resource, "-A", "--kubeconfig", c.Kubeconfig(), fmt.Sprintf("--scrub=%t", scrub))
			recordings = append(recordings, recording{r, resource, scrub})
		}
	}
	all := func(texts ...string) {
		t.Helper()
		for _, r := range recordings {
			r.await(texts...)
		}
	}

	all("< 200 watch")
	w.create("ledger-3")
	w.update("ledger-1")
	w.remove("ledger-2")
	all("< DELETED ledger-2@")

	// Compaction concerns nobody who follows.
	compact(t, c)
	w.create("ledger-4")
	all("< ADDED ledger-4@")

	must.OK(t, c.KillAPIServer())
	for _, resource := range []string{"configmaps", "secrets"} {
		must.OK(t, c.DeleteStored(context.WithoutCancel(t.Context()), resource, "default", "ledger-3"))
	}
	compact(t, c)
	all("< refuse")
	must.OK(t, c.StartAPIServer(t.Context()))
	all("410 Expired", "< 200 list", "< 200 watch")
	w.update("ledger-0")
	all("< MODIFIED ledger-0@")

	access := c.Access()
	for _, r := range recordings {
		text := r.interrupt()
		t.Logf("%s, scrub %t: %d lines, %s", r.resource, r.scrub, strings.Count(text, "\n"), strings.Split(text, "\n")[2])
		r.replay()
		for _, want := range []string{"410 Expired", "> refused\n", "Deleted@", "(final state unknown)", "= synced\n", "stop\n> close\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", r.resource, want, text)
			}
		}
		never := []string{access.URL, access.AdminToken, "Bearer", "hunter2"}
		if r.scrub {
			never = append(never, "ledger", "kube-", "alice", "team")
			if uid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`).FindString(text); uid != "" {
				never = append(never, uid)
			}
		}
		for _, name := range never {
			if strings.Contains(text, name) {
				t.Errorf("%s, scrub %t: %q is in\n%s", r.resource, r.scrub, name, text)
			}
		}
		if testing.Verbose() && r.scrub {
			t.Logf("\n%s", text)
		}
	}
}

func compact(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	must.OK(t, c.Compact(t.Context()))
}

// writer writes a ConfigMap and a Secret of each name.
type writer struct {
	t      *testing.T
	client kubernetes.Interface
}

func newWriter(t *testing.T, c *cluster.Cluster) *writer {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Access().ClientGo())
	must.OK(t, err)
	return &writer{t, client}
}

func (w *writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"team": "alice"}}
}

func (w *writer) create(name string) {
	w.t.Helper()
	_, err := w.client.CoreV1().ConfigMaps("default").Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: w.meta(name)}, metav1.CreateOptions{})
	must.OK(w.t, err)
	_, err = w.client.CoreV1().Secrets("default").Create(w.t.Context(), &corev1.Secret{ObjectMeta: w.meta(name)}, metav1.CreateOptions{})
	must.OK(w.t, err)
}

func (w *writer) update(name string) {
	w.t.Helper()
	data := map[string]string{"password": "hunter2"}
	_, err := w.client.CoreV1().ConfigMaps("default").Update(w.t.Context(), &corev1.ConfigMap{ObjectMeta: w.meta(name), Data: data}, metav1.UpdateOptions{})
	must.OK(w.t, err)
	_, err = w.client.CoreV1().Secrets("default").Update(w.t.Context(), &corev1.Secret{ObjectMeta: w.meta(name), StringData: data}, metav1.UpdateOptions{})
	must.OK(w.t, err)
}

func (w *writer) remove(name string) {
	w.t.Helper()
	must.OK(w.t, w.client.CoreV1().ConfigMaps("default").Delete(w.t.Context(), name, metav1.DeleteOptions{}))
	must.OK(w.t, w.client.CoreV1().Secrets("default").Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}
