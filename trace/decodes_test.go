package trace

import "testing"

func TestDecodes(t *testing.T) {
	const data = `{"metadata":{"name":"a"},"data":{"k":5}}`
	if Decodes("ConfigMap", []byte(data)) == nil {
		t.Error("a ConfigMap with a number as data can be read")
	}
	if err := Decodes("Widget", []byte(data)); err != nil {
		t.Error(err)
	}
	if Decodes("Widget", []byte(`{"metadata":{"labels":{"l":5}}}`)) == nil {
		t.Error("an object with a number as a label can be read")
	}
}
