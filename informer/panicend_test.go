package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/informer"
)

// A panic is told by Run and by nothing else. So Run returns it also if its context ends while another callback still runs, or if the
// context has ended before the callback panics; and so does the Run of a group.
func TestPanicIsToldAlthoughTheContextEnds(t *testing.T) {
	for _, test := range []struct {
		name    string
		grouped bool
		late    bool // the panic comes after the end of the context
	}{
		{"before", false, false},
		{"after", false, true},
		{"before, in a group", true, false},
		{"after, in a group", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := informer.New(newFake("a"), informer.Options[*thing]{Logger: silent})
				slow, bad := make(chan struct{}), make(chan struct{})
				for name, callback := range map[string]func(){"slow": func() { <-slow }, "bad": func() { <-bad; panic("spoiled") }} {
					if _, err := in.AddHandler(informer.Handler[*thing]{Name: name, OnAdd: func(*thing, bool) { callback() }}); err != nil {
						t.Fatal(err)
					}
				}
				run := in.Run
				if test.grouped {
					group := informer.NewGroup()
					if err := group.Add("things", in); err != nil {
						t.Fatal(err)
					}
					run = group.Run
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- run(ctx) }()
				steps := []func(){func() { close(bad) }, cancel}
				if test.late {
					steps[0], steps[1] = steps[1], steps[0]
				}
				for _, step := range steps {
					synctest.Wait()
					step()
				}
				synctest.Wait()
				close(slow)
				var panicked *informer.PanicError
				if err := <-done; !errors.As(err, &panicked) || panicked.Handler != "bad" {
					t.Errorf("Run returned %v, want the panic", err)
				}
			})
		})
	}
}
