package outages

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
)

const rbac = "rbac.authorization.k8s.io"

// rolesOf is the resource of ClusterRoles, Roles, or the bindings of either.
func rolesOf(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// TestRightRevoked: the role that a copy reads by is taken away, and given back. The
// copy keeps what it has, asks along the curve, and goes on where it stopped: nothing is
// listed, and what was deleted meanwhile is seen, not inferred.
func TestRightRevoked(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, configMaps)
	w.createRole("ClusterRole", "powerless")
	w.bind("ClusterRole", "powerless")
	w.do("create", names("object", 100)...)
	gone := names("deleted", 20)
	w.do("create", gone...)
	w.awaitRight(c, http.StatusOK)
	r := follow[*metav1.PartialObjectMetadata](t, c, c.Access().PowerlessToken, configMaps, reflector.Options{
		MinWatchTimeout: 5 * time.Second, // a stream that is open is not asked again who reads it
		Rand:            func() float64 { return 0 },
	})
	r.converge(w)

	must(t, w.client.Resource(rolesOf("ClusterRoleBinding")).Delete(t.Context(), "powerless", metav1.DeleteOptions{}))
	w.awaitRight(c, http.StatusForbidden)
	r.await("a watch that is refused", func(history []step) bool { return count(history, "backoff", "denied") > 0 })
	held := r.held().Digest()
	w.do("update", names("object", 50)...)
	w.do("delete", gone...)
	r.await("some more", func(history []step) bool { return count(history, "backoff", "denied") == 4 })
	if status := r.source.Status(); !apierrors.IsForbidden(status.LastError) || status.FailingSince.IsZero() {
		t.Errorf("the status has the error %v since %v, want 403", status.LastError, status.FailingSince)
	}
	if now := r.held().Digest(); now != held {
		t.Error("the copy changed without the right to read")
	}
	w.bind("ClusterRole", "powerless")
	r.converge(w)

	history, _ := r.steps()
	if lists, relists := count(history, "list", ""), count(history, "relist", ""); lists != 1 || relists != 0 {
		t.Errorf("%d lists and %d relists, want the first list alone", lists, relists)
	}
	r.checkCurve(history)
	all, inferred := deletions(history)
	if len(all) != len(gone) || len(inferred) != 0 {
		t.Errorf("%d deletions, %d objects with an inferred one; want %d that were all seen", len(all), len(inferred), len(gone))
	}
}

// curve is how long the pauses are after answers of any kind, without jitter.
var curve = []time.Duration{
	800 * time.Millisecond, 800 * time.Millisecond, 800 * time.Millisecond, 1200 * time.Millisecond,
	4 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second,
}

// checkCurve checks that watches which were refused came no faster than the curve of
// the backoff allows, and all at one version. A watch that lived for 5 seconds before,
// as long as it was to, is a step on that curve, too.
func (r *replica[T]) checkCurve(history []step) {
	r.t.Helper()
	var paused step // the last pause that no request has followed yet
	var resumed string
	taken := 0
	for _, s := range history {
		switch {
		case s.kind == "backoff":
			paused = s
		case s.kind == "watch" && paused.kind != "":
			// The pause begins a little before the step is written down: on a busy machine as much
			// as milliseconds.
			least := curve[min(taken, len(curve)-1)] * 95 / 100
			if gap := s.at.Sub(paused.at); gap < least {
				r.t.Errorf("%s was followed by a request after %v, want at least %v", paused.word, gap, least)
			}
			if resumed != "" && paused.word == "denied" && s.resourceVersion != resumed {
				r.t.Errorf("a watch was asked for at %s, and then at %s, though nothing came between", resumed, s.resourceVersion)
			}
			resumed, paused = s.resourceVersion, step{}
			taken++
		}
	}
}

// createRole makes a role, of the name of its user, that may list and watch all types: everywhere,
// or in the namespace default.
func (w *world) createRole(kind, user string) {
	w.t.Helper()
	w.create(rolesOf(kind), map[string]any{
		"apiVersion": rbac + "/v1", "kind": kind, "metadata": map[string]any{"name": user},
		"rules": []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"list", "watch"}}},
	})
}

// bind lets a user do what the role may.
func (w *world) bind(kind, user string) {
	w.t.Helper()
	w.create(rolesOf(kind+"Binding"), map[string]any{
		"apiVersion": rbac + "/v1", "kind": kind + "Binding", "metadata": map[string]any{"name": user},
		"roleRef":  map[string]any{"apiGroup": rbac, "kind": kind, "name": user},
		"subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": user}},
	})
}

// awaitRight waits until the API server's authorizer has heard of a change: it
// answers the user powerless with status.
func (w *world) awaitRight(c *cluster.Cluster, status int) {
	w.t.Helper()
	client, err := c.Access().HTTPClient()
	must(w.t, err)
	defer client.CloseIdleConnections()
	poll(w.t, "an answer of "+http.StatusText(status), func() bool {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, c.Access().URL+"/api/v1/configmaps?limit=1", nil)
		must(w.t, err)
		req.Header.Set("Authorization", "Bearer "+c.Access().PowerlessToken)
		resp, err := client.Do(req)
		must(w.t, err)
		must(w.t, resp.Body.Close())
		return resp.StatusCode == status
	})
}
