package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/near"
	"github.com/relist-go/relist/internal/programs"
	"github.com/relist-go/relist/trace"
)

type replayFlags struct {
	update  bool
	verbose bool
	program string
	svg     bool
	html    bool
}

func newReplay() *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Run traces: recorded or written conversations with an API server",
		Long: `Run traces. A trace is a conversation between an API server and a watch client,
written by hand or by relist record. relist plays the server's side byte by
byte to its own reflector, in virtual time. The reflector must do what the file
says. A trace for another program names it in its first line, such as
"# program: retrywatcher"; --program overrides it. relist has the retrying
watcher, its reflector with nothing beside the conversation, the smallest client
of examples/smallest, and the naive clients of docs/incidents.

FILE is a trace, a directory (all *.txt in it), or a pattern such as
'testdata/watch-*.txt'. docs/trace-format.md describes the language.

For each file, relist prints a line that begins with ok, with FAIL, which a diff
follows, or with skip, if relist does not have the program that the file is for.
The exit status is 0 if all files pass, 1 if one fails or is skipped, and 2 if
the command line is not understood.

With --svg or --html, relist prints a picture of one trace instead: a sequence
diagram, or a page that steps through the run. The page shows the requests and
the frames, what the state machine of the reflector decides and why, its queue,
the store and the callbacks. It needs no server and no network. If the run
differs from the file, the page shows the run and the difference. A trace for
two programs, such as those in docs/incidents/testdata/beside, becomes a page
that shows both side by side.`,
		Example: `  relist replay testdata
  relist replay -v testdata/expired.txt
  relist replay testdata/*.txt testdata/*/*.txt
  relist replay --update recorded.txt    # after an intended change
  relist replay --html testdata/expired.txt >expired.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := traceFiles(args)
			if err != nil {
				return err
			}
			switch picture := f.svg || f.html; {
			case f.svg && f.html, picture && (f.update || f.verbose):
				return cli.Usage("--svg, --html, and --update or --verbose: one of these at a time")
			case f.update && f.program != "":
				return cli.Usage("--update is for the program that a file names: write \"# program: %s\" in its first line", f.program)
			}
			if f.program != "" {
				if _, err := programs.Named(f.program); err != nil {
					return cli.Usage("--program: %w", err)
				}
			}
			if f.svg || f.html {
				return f.show(cmd.OutOrStdout(), cmd.ErrOrStderr(), files)
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), files)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each conversation as it ran")
	flags.BoolVar(&f.update, "update", false, "rewrite the lines of the client in files that differ")
	flags.StringVar(&f.program, "program", "", "run this program, whatever the files say: "+strings.Join(programs.Names(), ", "))
	flags.BoolVar(&f.svg, "svg", false, "print a sequence diagram of the trace, in SVG")
	flags.BoolVar(&f.html, "html", false, "print a page that steps through the trace, in HTML")
	cli.CompleteWords(cmd, "program", programs.Names()...)
	return cmd
}

// parse reads a file, and returns the program that plays it: that of --program, or the one that the
// file names.
func (f *replayFlags) parse(name string) (*trace.File, trace.Program, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	if servers, is := bytes.CutPrefix(src, []byte("# server: ")); is {
		line, _, _ := strings.Cut(string(servers), "\n")
		return nil, nil, &foreignError{name, "for servers: " + line}
	}
	file, err := trace.Parse(name, src)
	if err != nil {
		return nil, nil, err
	}
	if f.program != "" {
		file = file.As(f.program)
	}
	program, err := programs.Named(file.Program())
	if err != nil {
		return nil, nil, &foreignError{name, "for another program: " + file.Program() + near.DidYouMean(file.Program(), programs.Names())}
	}
	return file, program, nil
}

// foreignError says that relist has no program for a trace.
type foreignError struct{ name, whose string }

func (e *foreignError) Error() string { return e.name + " is " + e.whose }

// traceFiles returns the files that the arguments name, in their order.
func traceFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, cli.Usage("name a trace, or a directory of traces")
	}
	var files []string
	for _, arg := range args {
		pattern := arg
		if info, err := os.Stat(arg); err == nil {
			if !info.IsDir() {
				files = append(files, arg)
				continue
			}
			pattern = filepath.Join(escapePattern(arg), "*.txt")
		}
		matches, err := filepath.Glob(pattern)
		switch {
		case err != nil:
			return nil, cli.Usage("%s: %w", arg, err)
		case len(matches) == 0 && pattern == arg:
			return nil, cli.Usage("%s: no such file", arg)
		case len(matches) == 0:
			return nil, cli.Usage("%s: no *.txt in this directory", arg)
		}
		files = append(files, matches...)
	}
	return files, nil
}

// escapePattern returns a pattern that matches only path.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// run replays the files, one after the other, until ctx ends.
func (f *replayFlags) run(ctx context.Context, out io.Writer, files []string) error {
	r := &replayed{verbose: f.verbose}
	failed, foreign := 0, 0
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		updated, err := f.replay(name, r.line)
		if errors.As(err, new(*foreignError)) {
			foreign++
		} else if err != nil {
			failed++
		}
		if err := cli.Print(out, "%s", r.result(name, err, updated)); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d traces did not pass", failed, len(files))
	case foreign > 0:
		return fmt.Errorf("%d of %d traces were not played, because relist does not have their programs", foreign, len(files))
	}
	return nil
}

// replay runs a file. With --update, it rewrites a file that differs.
func (f *replayFlags) replay(name string, line func(string)) (updated bool, err error) {
	file, program, err := f.parse(name)
	if err != nil {
		return false, err
	}
	text, err := trace.Replay(file, program, line)
	if failure, ok := errors.AsType[*trace.Failure](err); ok && failure.Err == nil && f.update {
		return true, os.WriteFile(name, text, 0o666) // everybody may read source files
	}
	return false, err
}

// show prints the picture of one file. It prints that of a run that fails, too, which is when one
// wants to see it most. The difference then goes to stderr.
func (f *replayFlags) show(out, stderr io.Writer, files []string) error {
	if len(files) != 1 {
		return cli.Usage("--svg and --html show one trace, and there are %d", len(files))
	}
	file, program, err := f.parse(files[0])
	if err != nil {
		return err
	}
	recording, err := trace.Record(file, program)
	if recording == nil {
		return err
	}
	picture := recording.HTML
	if f.svg {
		picture = recording.SVG
	}
	if _, err := out.Write(picture()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if err == nil {
		return nil
	}
	if err := cli.Print(stderr, "%s", new(replayed).result(files[0], err, false)); err != nil {
		return err
	}
	return fmt.Errorf("%s did not pass", files[0])
}

// replayed makes the text about each file.
type replayed struct {
	verbose bool

	// conversation is the conversation of the present file. It is printed after
	// the run, because nothing inside a run may call a writer outside of it.
	conversation strings.Builder
}

func (r *replayed) line(line string) {
	if r.verbose {
		r.conversation.WriteString(line + "\n")
	}
}

func (r *replayed) result(name string, err error, updated bool) string {
	text := ""
	if r.verbose {
		text = r.conversation.String() + "\n"
		r.conversation.Reset()
	}
	var failure *trace.Failure
	var foreign *foreignError
	switch {
	case errors.As(err, &failure):
		return fmt.Sprintf("%sFAIL %s\n%s\n", text, name, failure)
	case errors.As(err, &foreign):
		return fmt.Sprintf("%sskip %s (%s)\n", text, name, foreign.whose)
	case err != nil:
		return fmt.Sprintf("%sFAIL %s\n%v\n\n", text, name, err)
	case updated:
		return text + "ok   " + name + " (updated)\n"
	}
	return text + "ok   " + name + "\n"
}
