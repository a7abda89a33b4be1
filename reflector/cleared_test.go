package reflector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// An object in quarantine is repaired by what the server says of it, also if the sink holds
// it without its version, because a transform clears that, or if versions are no numbers.
func TestRepairDoesNotDependOnTheVersionThatIsHeld(t *testing.T) {
	for _, c := range []struct {
		name                  string
		list, held, bad, good string
		clear                 bool
	}{
		{name: "held as it came", list: "100", held: "90", bad: "101", good: "101"},
		{name: "held without a version", list: "100", held: "90", bad: "101", good: "101", clear: true},
		{name: "versions that are no numbers", list: "a100", held: "a90", bad: "a101", good: "a101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transformed := func(version, label string) *listwatch.Page[partial] {
					page := pageOf(c.list, newPartial("x", "u", version))
					page.Items[0].Labels = map[string]string{"is": label}
					if c.clear {
						page.Items[0].ResourceVersion = ""
					}
					return page
				}
				server := newScripted()
				repaired := false
				server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
					if repaired {
						return transformed(c.good, "new"), nil
					}
					return transformed(c.held, "old"), nil
				}
				server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
					page := transformed(c.good, "new")
					page.ResourceVersion = c.good
					return page, nil
				}
				sink := store.New(store.Options[partial]{})
				r := reflector.New(server, sink, reflector.Options{Rand: zero})
				running(t, r)
				s := <-server.streams
				repaired = true
				s.undecodable(listwatch.Modified, newPartial("x", "u", c.bad))
				later(10 * time.Second)
				if obj, _ := sink.Get("x"); obj.Labels["is"] != "new" {
					t.Errorf("x is the %s one; in quarantine are %v", obj.Labels["is"], r.Status().Quarantined)
				}
				if q := r.Status().Quarantined; len(q) > 0 {
					t.Errorf("in quarantine are %v, want nobody", q)
				}
			})
		})
	}
}

// A transform that clears UIDs or versions leaves less to compare. What is left does not
// differ.
func TestVerifyWhereUIDsOrVersionsAreCleared(t *testing.T) {
	for _, c := range []struct {
		name string
		held partial
	}{
		{"UIDs", newPartial("x", "", "90")},
		{"versions", newPartial("x", "u", "")},
		{"both", newPartial("x", "", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newScripted()
				server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
					page := pageOf("100", c.held)
					page.Metas[0] = metaOf(newPartial("x", "u", "90"))
					return page, nil
				}
				server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
					return server.list(metav1.ListOptions{})
				}
				metadata := newScripted()
				metadata.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
					return pageOf("100", newPartial("x", "u", "90")), nil
				}
				verified := 0
				r := reflector.New(server, store.New(store.Options[partial]{}), reflector.Options{
					Rand: zero, Verify: reflector.Verify{Every: time.Minute, Metadata: metadata},
					Trace: &reflector.Trace{
						Verified: func(reflector.Verified) { verified++ },
						Problem:  func(p reflector.Problem) { t.Errorf("nothing differs: %v", p.Err) },
					},
				})
				stop := running(t, r)
				later(10*time.Minute + time.Second)
				stop()
				if lists, _, _ := server.count(); verified != 10 || lists != 1 {
					t.Errorf("%d verifications and %d lists, want 10 and 1", verified, lists)
				}
			})
		})
	}
}
