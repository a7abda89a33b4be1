package prototree

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkMetadata decodes what is in each event of a small object: metadata, in which the
// resourceVersion is another each time.
func BenchmarkMetadata(b *testing.B) {
	const objects, version = 2000, "1000000000"
	var messages, versions [][]byte
	for i := range objects {
		data, err := (&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("settings-%05d", i), Namespace: fmt.Sprintf("team-%04d", i/10),
			UID: types.UID(fmt.Sprintf("8c1f0e1c-5d2a-4b8e-9f51-%012d", i)), ResourceVersion: version,
			CreationTimestamp: metav1.Unix(1_790_000_000, 0),
			Labels:            map[string]string{"app.kubernetes.io/name": "settings", "tier": "backend"},
			Annotations:       map[string]string{"example.com/sent": "1790000000000000000"},
		}}).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		at := bytes.Index(data, []byte(version))
		messages, versions = append(messages, data), append(versions, data[at:at+len(version)])
	}
	decoder := New(reflect.TypeFor[metav1.PartialObjectMetadata](), true)
	for _, way := range []struct {
		name   string
		decode func(message []byte, into *metav1.PartialObjectMetadata) error
	}{
		{"decoder", func(message []byte, into *metav1.PartialObjectMetadata) error { return decoder.Decode(message, into) }},
		{"generated", func(message []byte, into *metav1.PartialObjectMetadata) error { return into.Unmarshal(message) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			kept := make([]*metav1.PartialObjectMetadata, objects)
			for n := 0; b.Loop(); n++ {
				i := n % objects
				copy(versions[i], fmt.Append(nil, 1_000_000_000+n))
				kept[i] = new(metav1.PartialObjectMetadata)
				if err := way.decode(messages[i], kept[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
