package cbor

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8scbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/relist-go/relist/listwatch"
)

// shuffled returns a list as kube-apiserver encodes one: its members begin at a random one, so the kind may come behind the items.
func shuffled(t *testing.T, kind string) string {
	t.Helper()
	scheme := runtime.NewScheme()
	encoder, ok := k8scbor.NewSerializer(scheme, scheme).(runtime.NondeterministicEncoder)
	if !ok {
		t.Fatal("the encoder of apimachinery has one order")
	}
	var out bytes.Buffer
	err := encoder.EncodeNondeterministic(&metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: "v1"},
		Items: []metav1.PartialObjectMetadata{
			{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "ua", ResourceVersion: "5"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "ub", ResourceVersion: "6"}},
		},
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Items of built-in types name no kind. They get that of their list, wherever it stands.
func TestKindBehindItems(t *testing.T) {
	for range 100 {
		page, err := list[*unstructured.Unstructured](t, shuffled(t, "ConfigMapList"))
		if err != nil || len(page.Items) != 2 || page.Items[0].GetKind() != "ConfigMap" || page.Items[1].GetName() != "b" || page.Items[1].GetAPIVersion() != "v1" {
			t.Fatalf("%+v: %v", page, err)
		}
		raw, err := list[*listwatch.Raw](t, shuffled(t, "ConfigMapList"))
		if err != nil || len(raw.Items) != 2 || !bytes.Contains(raw.Items[1].Bytes(), []byte(`"kind":"ConfigMap"`)) {
			t.Fatalf("%+v: %v", raw, err)
		}
	}
}

// Of members with one name, the last one counts, as in JSON.
func TestMemberTwice(t *testing.T) {
	const twice = "\xa2\x61a\x02\x61a\x01"
	page, err := list[*unstructured.Unstructured](t, "\xa2\x64kind\x6dConfigMapList\x65items\x81\xa2\x68metadata\xa1\x64name\x61x\x61v"+twice)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v: %v", page, err)
	}
	if v, _, _ := unstructured.NestedInt64(page.Items[0].Object, "v", "a"); v != 1 {
		t.Errorf("a is %v, want 1", page.Items[0].Object["v"])
	}
}
