package micro

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cborserializer "k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/cbor"
	"github.com/relist-go/relist/listwatch/format"
)

// BenchmarkList reads the 300 Pods of testdata in JSON and in CBOR, which has its members in any order, as kube-apiserver sends it.
func BenchmarkList(b *testing.B) {
	file, err := os.Open("../../../testdata/pods-300.json.gz")
	must(b, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	must(b, err)
	var pods corev1.PodList
	must(b, json.NewDecoder(text).Decode(&pods))
	inJSON, err := json.Marshal(&pods)
	must(b, err)
	var inCBOR bytes.Buffer
	must(b, cborserializer.NewSerializer(nil, nil).EncodeNondeterministic(&pods, &inCBOR))
	for _, in := range []struct {
		name   string
		format format.Format
		body   []byte
	}{{"JSON", listwatch.JSON, inJSON}, {"CBOR", cbor.Encoding, inCBOR.Bytes()}} {
		b.Run("into=struct/format="+in.name, func(b *testing.B) { readList[*corev1.Pod](b, in.format, in.body) })
		b.Run("into=unstructured/format="+in.name, func(b *testing.B) { readList[*unstructured.Unstructured](b, in.format, in.body) })
	}
}

func readList[T any](b *testing.B, f format.Format, body []byte) {
	unmarshal, err := f.Unmarshaler(reflect.TypeFor[T](), format.Options{})
	must(b, err)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	defer reportCPU(b)()
	for b.Loop() {
		items := 0
		must(b, f.ReadList(bytes.NewReader(body), format.NewList(func() error { return nil }, func(item []byte) error {
			items++
			var obj T
			return unmarshal(item, &obj)
		})))
		if items != 300 {
			b.Fatal(items)
		}
	}
}
