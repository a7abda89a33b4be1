package transport

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// FuzzFrames cuts any bytes, whole and in pieces, and asks for the same frames and
// the same end. What the json/v2 decoder takes for a sequence of objects must give
// those objects.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{}`, "{}\r\n{\"a\":[1,{}]} ", `{"a":"\\\"}{"}`, "{\x00}", `{"a":[}`, `{"a":1234}{}`, "[]", "\ufeff{}", `{"\`,
	} {
		f.Add([]byte(seed), uint8(3), uint8(0))
		f.Add([]byte(seed), uint8(1), uint8(5))
	}
	paths, err := filepath.Glob("../testdata/captures/watch-[lrs]*.http")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		f.Add(capturedBody(f, path), uint8(7), uint8(200))
	}
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		whole := cutAll(bytes.NewReader(in), int(limit))
		cut := min(int(at), len(in))
		if diff := cmp.Diff(whole, cutAll(pieces(in[:cut], in[cut:]), int(limit))); diff != "" {
			t.Errorf("split at byte %d (-whole +split):\n%s", cut, diff)
		}
		if diff := cmp.Diff(whole, cutAll(iotest.OneByteReader(bytes.NewReader(in)), int(limit))); diff != "" {
			t.Errorf("byte by byte (-whole +split):\n%s", diff)
		}
		if want, ok := decodeAll(in); ok {
			got := cutAll(bytes.NewReader(in), 0)
			if diff := cmp.Diff(result{want, "EOF"}, got); diff != "" {
				t.Errorf("(-jsontext +frames):\n%s", diff)
			}
		}
	})
}

// decodeAll cuts with a decoder that knows the whole grammar; ok if all of in is a
// sequence of objects.
func decodeAll(in []byte) (objects []string, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		value, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return objects, true
		}
		if err != nil || value.Kind() != '{' {
			return nil, false
		}
		objects = append(objects, string(value))
	}
}

// FuzzKubeconfig reads any bytes. What it accepts must be a Config with a server.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(exampleKubeconfig), "")
	f.Add([]byte(exampleKubeconfig), "prod")
	f.Add([]byte("contexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: x}}]\n"), "a")
	f.Add([]byte("contexts: {}"), "")
	f.Add([]byte("{"), "a")
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		cfg, err := parseKubeconfig(data, "/dir", context)
		if err == nil && cfg.Server == "" {
			t.Error("accepted without a server")
		}
		if err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}
