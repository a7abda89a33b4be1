package demo

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/object"
)

// differences says how what a client holds differs from what the server has.
type differences struct {
	deleted int // the client holds them, and the server has deleted them
	missing int // the server has them, and the client does not hold them
	old     int // the client holds another state of them
}

// compare compares states by key.
func compare(held, server map[string]string) (d differences) {
	for key, state := range server {
		switch mine, is := held[key]; {
		case !is:
			d.missing++
		case mine != state:
			d.old++
		}
	}
	d.deleted = len(held) - (len(server) - d.missing)
	return d
}

func (d differences) String() string {
	text := ""
	add := func(n int, format string) {
		if n > 0 {
			text += ", " + fmt.Sprintf(format, n)
		}
	}
	add(d.deleted, "keeps %d deleted")
	add(d.missing, "lacks %d")
	add(d.old, "%d old")
	return strings.TrimPrefix(cmp.Or(text, "all right"), ", ")
}

// copyDiffers compares the copy with the server: versions, UIDs and contents, because a restored
// server may give a version again.
func (d *demo) copyDiffers() differences {
	held := map[string]string{}
	for _, o := range d.cache.Store().List() {
		held[object.Key(o)] = fmt.Sprint(o.ResourceVersion, o.UID, o.Data)
	}
	return compare(held, d.serverHas(func(o *unstructured.Unstructured) string {
		data, _ := o.Object["data"].(map[string]any)
		return fmt.Sprint(o.GetResourceVersion(), o.GetUID(), data)
	}))
}

// loopDiffers compares what the loop holds, which is only versions.
func (d *demo) loopDiffers() differences {
	held := map[string]string{}
	for _, entry := range d.loop.Store() {
		key, version, _ := strings.Cut(entry, "@")
		held[key] = version
	}
	return compare(held, d.serverHas((*unstructured.Unstructured).GetResourceVersion))
}

// loopHas reports whether the loop was told of a version since the last call.
func (d *demo) loopHas(version string) bool {
	for {
		entry, more := d.loop.Pop()
		if !more || strings.HasSuffix(entry, "@"+version) {
			return more
		}
	}
}

// serverHas returns the states of the server's objects by key. They are from its memory: a mistake
// of a client cannot be in both.
func (d *demo) serverHas(state func(*unstructured.Unstructured) string) map[string]string {
	items, _, err := d.server.List(churn.Resource, "")
	if err != nil {
		// unreachable: the server has the resource.
		panic("demo: " + err.Error())
	}
	has := make(map[string]string, len(items))
	for _, item := range items {
		o := &unstructured.Unstructured{Object: item}
		has[object.Key(o)] = state(o)
	}
	return has
}
