package object

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/relist-go/relist/store"
)

func TestUnmarshal(t *testing.T) {
	const pod = `{"kind":"Pod","metadata":{"name":"web-0","namespace":"shop","uid":"u1","resourceVersion":"7","labels":{"a":"b"}},"spec":{"x":[1,2]}}`
	var o *Object
	if err := json.Unmarshal([]byte(" "+pod+" "), &o); err != nil {
		t.Fatal(err)
	}
	if store.Key(o) != "shop/web-0" || o.GetUID() != "u1" || o.GetResourceVersion() != "7" {
		t.Errorf("identity = %s %s %s", store.Key(o), o.GetUID(), o.GetResourceVersion())
	}
	if string(o.Raw()) != pod {
		t.Errorf("Raw() = %s", o.Raw())
	}
	if cap(o.raw) != len(pod) {
		t.Errorf("%d bytes are kept for %d", cap(o.raw), len(pod))
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, bad := range []string{`[]`, `"pod"`, `{"metadata":"none"}`, `{"metadata":{"name":1}}`, `{"metadata"`} {
		var o *Object
		if err := json.Unmarshal([]byte(bad), &o); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
