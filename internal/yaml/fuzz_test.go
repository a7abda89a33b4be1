package yaml_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/yaml"
)

// FuzzParse compares with sigs.k8s.io/yaml: what both read means the same to both. (Each
// reads some that the other refuses, such as tabs where no column counts.) A sign inside
// of a binary number is none here.
// The documents of accepted and refused are the seeds.
func FuzzParse(f *testing.F) {
	for _, list := range [][]string{accepted, refused} {
		for _, document := range list {
			f.Add([]byte(document))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("0b")) {
			return
		}
		n, err := yaml.Parse(data)
		if err != nil {
			return
		}
		got, err := n.JSON()
		if err != nil {
			return
		}
		want, err := sigsyaml.YAMLToJSON(data)
		if err != nil {
			return
		}
		if diff := cmp.Diff(meaning(t, want), meaning(t, got)); diff != "" {
			t.Errorf("(-other +ours)\n%s", diff)
		}
	})
}

// meaning is the value that a JSON text stands for.
func meaning(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
