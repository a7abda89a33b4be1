package trace

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// Every observed line of every trace counts: changed, left out or written twice,
// the file fails, and the diff shows the line.
func TestEveryLineCounts(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		must.OK(t, err)
		f, err := Parse(name, src)
		must.OK(t, err)
		got, err := inBubble(t, f, Mirror, func(string) {}, nil)
		for i, l := range f.lines {
			if l.kind != observed {
				continue
			}
			for _, instead := range [][]line{
				{{text: l.text + "?", kind: observed}},
				{},
				{l, l},
			} {
				spoiled := &File{Name: name}
				spoiled.lines = append(append(append(spoiled.lines, f.lines[:i]...), instead...), f.lines[i+1:]...)
				var failure *Failure
				if !errors.As(compare(spoiled, got, err), &failure) || !strings.Contains(failure.Diff, "\n"+mark(instead)+l.text) {
					t.Errorf("%s:%d: not shown: %s\n%v", name, i+1, l.text, failure)
				}
			}
		}
	}
}

// mark is how a diff marks the line that was replaced.
func mark(instead []line) string {
	if len(instead) == 2 {
		return "-" // one of the two is too many in the file
	}
	return "+"
}

// misbehaved is a program that does what the test says.
type misbehaved struct {
	run   func(ctx context.Context) error
	close func()
}

func (m *misbehaved) Run(ctx context.Context) error { return m.run(ctx) }
func (m *misbehaved) Pop() (string, bool)           { return "", false }
func (m *misbehaved) Synced() bool                  { return false }
func (m *misbehaved) Store() []string               { return nil }
func (m *misbehaved) Close()                        { m.close() }

// get sends one and returns the response, which nobody reads.
func get(ctx context.Context, env Env) (*http.Response, error) {
	transport := &http.Transport{DialContext: env.Dial}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, env.Server+env.Path, nil)
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(req)
}

func playText(t *testing.T, program Program, text string) error {
	t.Helper()
	f, err := Parse("f.txt", []byte(text))
	must.OK(t, err)
	_, err = Replay(f, program, nil)
	return err
}

// A connection that the program forgets is a failure, though all lines are right.
func TestLeak(t *testing.T) {
	leaky := func(env Env) (Client, error) {
		return &misbehaved{
			run: func(ctx context.Context) error {
				resp, err := get(ctx, env)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			},
			close: func() {},
		}, nil
	}
	err := playText(t, leaky, "start\n> GET "+configMaps.path+"\n< 200 list rv=1\nstop\n")
	if err == nil || !strings.Contains(err.Error(), "left 1 connections open") {
		t.Errorf("error %v, want one of a connection", err)
	}
}

// Stopping late is visible, with the time that it took.
func TestStopLate(t *testing.T) {
	late := func(Env) (Client, error) {
		return &misbehaved{
			run: func(ctx context.Context) error {
				<-ctx.Done()
				<-time.After(30 * time.Second)
				return ctx.Err()
			},
			close: func() {},
		}, nil
	}
	if err := playText(t, late, "start\nsleep 1m\nstop\n~ 30s\n= stopped\n"); err != nil {
		t.Error(err)
	}
}

// What a program says stands below the requests of its instant, ends no wait, and may come with
// the end.
func TestSay(t *testing.T) {
	talks := ProgramOf(func(ctx context.Context, env Env) error {
		<-time.After(2 * time.Second)
		env.Say("rested\nwell")
		<-time.After(3 * time.Second)
		env.Say("asks")
		_, err := get(ctx, env) //nolint:bodyclose // there is no answer
		env.Say("ends")
		return err
	})
	text := "start\nwait\n~ 2s\n= rested well\n~ 3s\n> GET " + configMaps.path + "\n= asks\npop 1\nstore\n= store empty\nstop\n> close\n= ends\n"
	if err := playText(t, talks, text); err != nil {
		t.Error(err)
	}
	mute := ProgramOf(func(ctx context.Context, env Env) error {
		env.Say("")
		<-ctx.Done()
		return nil
	})
	if err := playText(t, mute, "start\nstop\n"); err == nil || !strings.Contains(err.Error(), "says an empty line") {
		t.Errorf("error %v, want one about the empty line", err)
	}
}

// So is a program that ends without having been told to.
func TestStopByItself(t *testing.T) {
	tired := func(Env) (Client, error) {
		return &misbehaved{
			run:   func(context.Context) error { <-time.After(30 * time.Second); return errors.New("tired") },
			close: func() {},
		}, nil
	}
	if err := playText(t, tired, "start\nwait\n~ 30s\n= stopped\nstop\n"); err != nil {
		t.Error(err)
	}
	err := playText(t, tired, "start\nwait\n~ 30s\n= stopped\n< 200 list rv=1\n")
	if err == nil || !strings.Contains(err.Error(), "the program has ended: tired") {
		t.Errorf("error %v, want one that says why the program has ended", err)
	}

	starts := 0
	done := func(Env) (Client, error) {
		return &misbehaved{
			run: func(ctx context.Context) error {
				if starts++; starts > 1 {
					<-ctx.Done()
				}
				return nil
			},
			close: func() {},
		}, nil
	}
	const ended = "the program has ended"
	err = playText(t, done, "start\n= stopped\n< 200 list rv=1\n")
	if err == nil || !strings.Contains(err.Error(), ended+": Run returned nil") {
		t.Errorf("error %v, want one that says that the program has ended", err)
	}
	starts = 0
	err = playText(t, done, "start\n= stopped\nstop\nrestart\n< 200 list rv=1\n")
	if err == nil || strings.Contains(err.Error(), ended) {
		t.Errorf("error %v, want one of a program that runs again", err)
	}
}

// A program that asks for more after it was told to stop fails.
func TestStopIgnored(t *testing.T) {
	stubborn := func(env Env) (Client, error) {
		return &misbehaved{
			run: func(ctx context.Context) error {
				<-ctx.Done()
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				defer cancel()
				resp, err := get(ctx, env)
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			},
			close: func() {},
		}, nil
	}
	err := playText(t, stubborn, "start\nstop\n")
	if err == nil || !strings.Contains(err.Error(), "f.txt:2: stop: the program must do nothing more than close: > GET") {
		t.Errorf("error %v", err)
	}
}

// An open watch delivers events while a newer request beside it waits for its answer.
func TestEventBesideARequest(t *testing.T) {
	const path = "/api/v1/namespaces/default/configmaps"
	err := playText(t, Mirror, "start\n> GET "+path+"?limit=500&resourceVersion=0\n"+
		"< 200 list rv=1\n> GET "+path+"?allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=T&watch=true\n= synced\n"+
		"< 200 watch\n< ADDED a@2 {\"data\":{\"k\":5}}\n! object default/a\n"+
		"wait\n~ 1s\n> GET "+path+"?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Da&limit=2\n"+
		"< ADDED b@3\npop 1\n= default/b Added@3\n"+
		"< 200 list rv=4\n\ta@4\npop 1\n= default/a Added@4\nstop\n> close\n")
	if err != nil {
		t.Error(err)
	}
}

// What cannot be played is an error with its line, below the diff so far.
func TestCannotGoOn(t *testing.T) {
	begin := "# Why.\n\nstart\n> GET " + configMaps.path + "?limit=500&resourceVersion=0\n"
	beginSocket := "start transport=websocket\n> GET " + configMaps.path + "?limit=500&resourceVersion=0\n" +
		"< 200 list rv=1\n> GET " + configMaps.path + "?allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=T&watch=true\n= synced\n< 101\n"
	for _, test := range []struct{ text, want string }{
		{"< eof\n", "f.txt:1: no request waits for an answer"},
		{begin + "< eof\n", "f.txt:5: no answer has begun"},
		{begin + "< ADDED a@1\n", "f.txt:5: no answer has begun"},
		{begin + "< 200 watch\n< 200 watch\n", "f.txt:6: the newest request without a full answer has a part of one"},
		{begin + "< 200 watch\n< 200 list rv=1\n\ta@1\n", "f.txt:6: the newest request without a full answer has a part of one"},
		{begin + "< 200 watch\n< ADDED a@1\n", "f.txt:6: the program has asked for a list: an event is no part of the answer"},
		{strings.Replace(beginSocket, "< 101\n", "< 200 list rv=2\n", 1), "f.txt:6: the program has asked for a watch: a list is no answer to it"},
		{begin + "restart\n", "f.txt:5: restart: the program runs"},
		{begin + "< 101\n", "f.txt:5: the newest request without a full answer asks for no WebSocket"},
		{begin + "< close 1000\n", "f.txt:5: the newest request whose answer has begun has become no WebSocket"},
		{begin + "< hang\n", "f.txt:5: the newest request whose answer has begun has become no WebSocket"},
		{begin + "< rst CANCEL\n", "f.txt:5: this line is only for HTTP/2"},
		{begin + "< goaway NO_ERROR\n", "f.txt:5: this line is only for HTTP/2"},
		{beginSocket + "< eof\n", "f.txt:7: a WebSocket ends with close, cut or reset"},
		{beginSocket + "< 101\n", "f.txt:7: the newest request without a full answer has a part of one"},
		{strings.Replace(begin, "start", "start transport=http2", 1) + "< wire \"x\"\n", "f.txt:5: HTTP/2 has no bytes without a frame"},
		{begin + "stop\n> close\nstop\n", "f.txt:7: stop: the program does not run"},
	} {
		err := playText(t, Mirror, test.text)
		var failure *Failure
		if !errors.As(err, &failure) || failure.Err == nil || !strings.Contains(failure.Err.Error(), test.want) {
			t.Errorf("%s: error %v\nwant %s", test.text, err, test.want)
			continue
		}
		if failure.Diff != "" {
			t.Errorf("%s: the lines before were right:\n%s", test.text, failure.Diff)
		}
	}
}

func TestFailureText(t *testing.T) {
	err := playText(t, Mirror, `# Why it exists.

start
> GET /wrong

# The answer.
< 200 list rv=1
> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=T&watch=true
= synced
pop 1
pop 2
pop 3
pop 4

# Then this.
stop
< eof
`)
	const want = `# Why it exists.

--- f.txt
+++ run
@@ -1,7 +1,7 @@
 # Why it exists.

 start
-> GET /wrong
+> GET /api/v1/namespaces/default/configmaps?limit=500&resourceVersion=0

 # The answer.
 < 200 list rv=1
@@ -15,3 +15,4 @@
 # Then this.
 stop
+> close
 < eof
f.txt:17: no request waits for an answer: if the program asks later, put wait above; if the program asks for something else than the file has, take this line out
`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
