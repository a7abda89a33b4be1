package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/relist-go/relist/internal/near"
)

// lifetime is the value of --for. It refuses zero, which would either end a command
// before it begins, or be taken for "for ever".
type lifetime time.Duration

// ErrForEnded is the cause of the end of a context of [For].
var ErrForEnded = errors.New("the time of --for is over")

// For returns a context that ends after the time of --for, 0 for none. It is made before the first
// request, so that a server, a file or a program that does not answer cannot prolong the time.
func For(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, ErrForEnded)
}

// AddFor defines --for.
func AddFor(flags *pflag.FlagSet, d *time.Duration) {
	flags.Var((*lifetime)(d), "for", "stop after this time, such as 90s (default: at Ctrl-C)")
}

func (l *lifetime) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return WantError("a positive time, such as 90s")
	}
	*l = lifetime(d)
	return nil
}

func (l *lifetime) String() string {
	if *l == 0 {
		return "" // so that help shows no default
	}
	return time.Duration(*l).String()
}

func (*lifetime) Type() string { return "duration" }

// WantError says which values a flag accepts.
type WantError string

func (e WantError) Error() string { return "want " + string(e) }

// flagError replaces the parser's error for a flag's value by one that says which values
// the flag accepts, and adds to that for an unknown flag which one may have been meant.
func flagError(flags *pflag.FlagSet, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return fmt.Errorf("%w%s", err, near.DidYouMean("--"+unknown.GetSpecifiedName(), names))
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	var want WantError
	if !errors.As(err, &want) {
		switch invalid.GetFlag().Value.Type() {
		case "bool":
			want = "true or false"
		case "duration":
			want = "a time, such as 90s"
		case "float64":
			want = "a number"
		case "int":
			want = "a whole number"
		default:
			return err
		}
	}
	return fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, invalid.GetValue(), want)
}
