package rawobject

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

func TestUnmarshal(t *testing.T) {
	const pod = `{"kind":"Pod","metadata":{"name":"web-0","namespace":"shop","uid":"u1","resourceVersion":"7","labels":{"a":"b"}},"spec":{"x":[1,2]}}`
	var o *Object
	if err := json.Unmarshal([]byte(" "+pod+" "), &o); err != nil {
		t.Fatal(err)
	}
	if object.Key(o) != "shop/web-0" || o.GetUID() != "u1" || o.GetResourceVersion() != "7" {
		t.Errorf("identity = %s %s %s", object.Key(o), o.GetUID(), o.GetResourceVersion())
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

func TestUnmarshalProtobuf(t *testing.T) {
	pod := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u1", ResourceVersion: "7"}}
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	message = append(message, "\x12\x04spec"...)
	var o Object
	if err := o.Unmarshal(message); err != nil {
		t.Fatal(err)
	}
	if object.Key(&o) != "shop/web-0" || o.GetUID() != "u1" || o.GetResourceVersion() != "7" || string(o.Raw()) != string(message) {
		t.Errorf("got %s %s %s %q", object.Key(&o), o.GetUID(), o.GetResourceVersion(), o.Raw())
	}
	clear(message)
	if !strings.Contains(string(o.Raw()), "web-0") {
		t.Error("the message is shared")
	}
	if err := o.Unmarshal([]byte("\x0a\x7f")); err == nil {
		t.Error("half a message was taken")
	}
}
