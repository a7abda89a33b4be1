package transport

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

func TestExecStandardError(t *testing.T) {
	cfg := script(t, `echo "log in at https://example.com" >&2; exit 1`)
	plugin, err := newExecPlugin(Config{Exec: cfg})
	must.OK(t, err)
	_, err = plugin.get(t.Context())
	checkError(t, err, "exit status 1")
	if got := cfg.Stderr.(*bytes.Buffer).String(); got != "log in at https://example.com\n" {
		t.Errorf("the user was shown %q", got)
	}
}

func TestExecInteractive(t *testing.T) {
	for _, tt := range []struct {
		mode     *bool
		terminal bool
		want     bool
		wantErr  string
	}{
		{nil, true, true, ""},
		{nil, false, false, ""},
		{new(false), true, false, ""},
		{new(true), true, true, ""},
		{new(true), false, false, "interactiveMode is Always"},
	} {
		cfg := script(t, `printf '%s' "$KUBERNETES_EXEC_INFO" >"$DIR/info"; exit 1`)
		cfg.Interactive = tt.mode
		plugin, err := newExecPlugin(Config{Exec: cfg})
		must.OK(t, err)
		plugin.isTerminal = func() bool { return tt.terminal }
		_, err = plugin.get(t.Context())
		info, _ := os.ReadFile(filepath.Join(filepath.Dir(cfg.Command), "info"))
		if tt.wantErr != "" {
			checkError(t, err, tt.wantErr)
			if len(info) != 0 {
				t.Errorf("the program ran, want %s", tt.wantErr)
			}
			continue
		}
		if got := strings.Contains(string(info), `"interactive":true`); got != tt.want {
			t.Errorf("terminal %v: the program was told %s, want %v", tt.terminal, info, tt.want)
		}
	}
}

func TestExecThatIsNotThere(t *testing.T) {
	for _, command := range []string{"relist-no-such-program", filepath.Join(t.TempDir(), "no-such-program")} {
		plugin, err := newExecPlugin(Config{Exec: &ExecConfig{Command: command, InstallHint: "\x1b[31mget it\nfrom example.com\n"}})
		must.OK(t, err)
		_, err = plugin.get(t.Context())
		checkError(t, err, filepath.Base(command))
		if !strings.HasSuffix(err.Error(), ": [31mget it\nfrom example.com") {
			t.Errorf("error %q, want one with the hint, and no control characters", err)
		}
		plugin.cfg.InstallHint, plugin.last = "", nil
		_, err = plugin.get(t.Context())
		checkError(t, err, "install it, or check the command and PATH")
	}
}

// Whoever waits for a program may go away. The program goes with the last one, and on Unix whatever
// it has started.
func TestExecIsStoppedWithTheLastWhoWaits(t *testing.T) {
	// Another process holds the standard output, too.
	cfg := script(t, `mkfifo "$DIR/fifo" "$DIR/alive"; { exec 3>"$DIR/alive"; sleep 1000; } & echo >"$DIR/started"; read line <"$DIR/fifo"`)
	dir := filepath.Dir(cfg.Command)
	plugin, err := newExecPlugin(Config{Exec: cfg})
	must.OK(t, err)
	first, leave := context.WithCancel(t.Context())
	second, leaveLast := context.WithCancelCause(t.Context())
	defer leaveLast(nil)
	errs := make(chan error, 2)
	for _, ctx := range []context.Context{first, second} {
		go func() {
			_, err := plugin.get(ctx)
			errs <- err
		}()
	}
	waitFor(t, func() bool {
		plugin.mu.Lock()
		defer plugin.mu.Unlock()
		_, err := os.Stat(filepath.Join(dir, "started"))
		return err == nil && plugin.running != nil && plugin.running.waiters == 2
	})
	alive, err := os.Open(filepath.Join(dir, "alive")) // as soon as the child has opened it
	must.OK(t, err)
	defer alive.Close()
	leave()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("the first who left got %v", err)
	}
	plugin.mu.Lock()
	run := plugin.running
	plugin.mu.Unlock()
	if run == nil {
		t.Fatal("the program was stopped while somebody waited for it")
	}
	enough := errors.New("enough")
	leaveLast(enough)
	if err := <-errs; !errors.Is(err, enough) {
		t.Errorf("the last one got %v", err)
	}
	select {
	case <-run.done:
	default:
		t.Error("the program is running still")
	}
	if plugin.last != nil {
		t.Errorf("an outcome is kept: %v", plugin.last.err)
	}
	if _, err := io.Copy(io.Discard, alive); err != nil { // until the child has ended
		t.Error(err)
	}
}

// A program that prints without end is ended, even if it does not mind that nobody reads.
func TestExecOutputIsBounded(t *testing.T) {
	plugin, err := newExecPlugin(Config{Exec: script(t, `trap "" PIPE; while :; do head -c 100000 /dev/zero 2>/dev/null; done`)})
	must.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := plugin.get(ctx); err == nil || !strings.Contains(err.Error(), "prints more than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
}

// What a program leaves running has its standard output still, and may never end.
func TestExecLeavesAProcessBehind(t *testing.T) {
	program := newPrinter(t)
	program.print(`{"token":"the-token"}`)
	cfg := script(t, `sleep 1000 & echo $! >"$DIR/child"; cat "`+filepath.Join(program.dir(), "credential")+`"`)
	t.Cleanup(func() {
		child, _ := os.ReadFile(filepath.Join(filepath.Dir(cfg.Command), "child"))
		stopProcess(t, strings.TrimSpace(string(child)))
	})
	plugin, err := newExecPlugin(Config{Exec: cfg})
	must.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if c, err := plugin.get(ctx); err != nil || c != bearer("the-token") {
		t.Errorf("credential %v, error %v", c, err)
	}
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func TestParseExecCredential(t *testing.T) {
	const head = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"`
	for _, tt := range []struct{ in, wantErr string }{
		{head + `,"status":{"token":"swordfish"}}`, ""},
		{head + `,"status":{"token":"swordfish","expirationTimestamp":"2026-11-20T10:00:00Z"},"new":1} ` + "\n", ""},
		{head + `,"status":{"token":"swordfish","expirationTimestamp":null}}`, ""},
		{"apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: swordfish\n", ""},
		{"---\napiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus: {token: 12345678}\n", "/status/token has the wrong type or form"},
		{"a: *swordfish", "it printed no JSON: see byte 0"},
		{"", "it printed nothing"},
		{" \n", "it printed nothing"},
		{"swordfish", "it printed no JSON: see byte 0"},
		{head + `,"status":{"token":"swordfish"}}{}`, "it printed no JSON: see byte"},
		{head + `,"status":{"token":["swordfish"]}}`, "/status/token has the wrong type or form"},
		{head + `,"status":{"expirationTimestamp":"swordfish"}}`, "/status/expirationTimestamp has the wrong type or form"},
		{`{"apiVersion":"client.authentication.k8s.io/v1","kind":"Other"}`, `kind "Other"`},
		{`{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential"}`, `of "client.authentication.k8s.io/v1beta1", but is configured for`},
		{head + `}`, "without a status"},
		{head + `,"status":{}}`, "neither a token nor a client certificate"},
		{head + `,"status":{"clientKeyData":"swordfish"}}`, "only one of"},
		{head + `,"status":{"token":"sword fish"}}`, "the token has a space"},
		{head + `,"status":{"clientKeyData":"swordfish","clientCertificateData":"swordfish"}}`, "a client certificate that cannot be used"},
	} {
		got, err := parseExecCredential([]byte(tt.in), execV1)
		checkError(t, err, tt.wantErr)
		if err != nil {
			if strings.Contains(err.Error(), "sword") {
				t.Errorf("%s: the error quotes the secret: %v", tt.in, err)
			}
			continue
		}
		if got.credential.authorization != "Bearer swordfish" {
			t.Errorf("%s: credential %+v", tt.in, got.credential)
		}
		if want := strings.Contains(tt.in, "2026"); want == got.expires.IsZero() || want && !got.expires.Equal(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: expires %v", tt.in, got.expires)
		}
	}
}
