//go:build unix

package connect

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// TestFilesThatAreReadOnce has the pipes that a shell makes of <(command).
func TestFilesThatAreReadOnce(t *testing.T) {
	authority, err := os.ReadFile(newAuthority(t))
	must.OK(t, err)
	pipe := func(content string) string {
		r, w, err := os.Pipe()
		must.OK(t, err)
		t.Cleanup(func() { _ = r.Close() })
		if _, err := w.WriteString(content); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		return fmt.Sprintf("/dev/fd/%d", r.Fd())
	}
	f := Flags{Server: "https://api.example", TokenFile: pipe("secret-token\n"), CAFile: pipe(string(authority))}
	cfg, err := f.Config()
	must.OK(t, err)
	want := transport.Config{Server: "https://api.example", BearerToken: "secret-token", TLS: transport.TLSConfig{CAData: authority}}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := transport.NewClient(cfg); err != nil {
		t.Error(err)
	}
	f = Flags{Server: "https://api.example", TokenFile: pipe("\n")}
	if _, err := f.Config(); err == nil || !strings.HasSuffix(err.Error(), "is empty") {
		t.Errorf("an empty pipe: %v", err)
	}
}
