package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

func nothing(context.Context, string) (time.Duration, error) { return 0, nil }

// Two controllers share an informer. The one that did not start it ends with it, and leaves it
// alone when it ends itself.
func TestSharedInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		shared := cache(f)
		first := run(t, 1, nil, controller.For(shared))
		second := run(t, 1, nil, controller.For(shared))
		third := run(t, 1, nil, controller.For(shared), controller.Watches(shared, func(obj *thing) []string { return []string{"of " + obj.Name} }))
		first.expect("a")
		second.expect("a")
		third.expect("a of a")

		second.stop()
		if err := second.result(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		f.set("a", func(*thing) {})
		first.expect("a")
		second.expect("")
		third.expect("a of a")

		first.stop()
		if err := third.result(); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("the informer has ended, and Run returned %v", err)
		}
		fresh := cache(newFake("b"))
		refused := controller.Watches(fresh, func(*thing) []string { t.Error("a source of a Run that was refused makes keys"); return nil })
		err := controller.Run(t.Context(), nothing, controller.Options{}, refused, controller.For(shared))
		if !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Run with an informer that has ended returned %v", err)
		}
		run(t, 1, nil, controller.For(fresh)).expect("b")
	})
}

// An informer that the program runs is used as it is.
func TestInformerOfTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		own := cache(f)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- own.Run(ctx) }()
		synctest.Wait()
		asked := 0
		r := run(t, 1, nil, controller.Watches(own, func(obj *thing) []string { asked++; return []string{obj.Name} }))
		r.expect("a")
		r.stop()
		if err := r.result(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		f.set("b", func(*thing) {})
		synctest.Wait()
		if asked != 1 {
			t.Errorf("the source was asked %d times, want once, before the end of Run", asked)
		}
		select {
		case err := <-ended:
			t.Errorf("the controller ended the informer: %v", err)
		default:
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the informer returned %v", err)
		}
	})
}

// An informer that fails ends Run with its error, also before its first list.
func TestInformerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		refused := errors.New("not allowed")
		f.Fail(refused)
		fatal := informer.New(f, informer.Options[*thing]{Reflector: reflector.Options{Fatal: func(error) bool { return true }}})
		r := run(t, 1, nil, controller.For(cache(newFake("b"))), controller.For(fatal),
			controller.Watches(fatal, func(*thing) []string { return nil }))
		if err := r.result(); !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "controller: For(*controller_test.thing): ") {
			t.Errorf("Run returned %v", err)
		}
		r.expect("")
	})
}

// incomparable is an informer that is no pointer, and cannot be the key of a map.
type incomparable struct {
	*informer.Informer[*thing]
	_ []string
}

func TestRunRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := cache(newFake("a"))
		closed := controller.NewQueue[string](controller.QueueOptions{})
		closed.Close()
		for want, run := range map[string]func() error{
			"the Reconcile function is nil": func() error { return controller.Run(t.Context(), nil, controller.Options{}, controller.For(in)) },
			"-1 workers": func() error {
				return controller.Run(t.Context(), nothing, controller.Options{Workers: -1}, controller.For(in))
			},
			"no source": func() error { return controller.Run(t.Context(), nothing, controller.Options{}) },
			"Owns(*controller_test.thing): the type of the owners has no Kind": func() error {
				return controller.Run(t.Context(), nothing, controller.Options{}, controller.Owns(in, object.Type{Group: "apps"}))
			},
			"For(*controller_test.thing): the informer is a controller_test.incomparable, whose values cannot be compared: pass a pointer": func() error {
				return controller.Run(t.Context(), nothing, controller.Options{}, controller.For(in), controller.For(incomparable{Informer: in}))
			},
			"closed": func() error { return controller.Run(t.Context(), nothing, controller.Options{Queue: closed}) },
		} {
			if err := run(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Run returned %v, want it to say %q", err, want)
			}
		}
		r := run(t, 1, nil, controller.For(in)) // the informer is as it was
		r.expect("a")
	})
}

// A queue that the program fills needs no source.
func TestNoSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, 1, nil)
		r.queue.Add("a")
		r.expect("a")
	})
}
