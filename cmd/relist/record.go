package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/relist/internal/connect"
	"github.com/relist-go/relist/cmd/relist/internal/report"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/trace/record"
	"github.com/relist-go/relist/transport"
)

// recordFlags are the flags of `relist record`.
type recordFlags struct {
	selection
	runFor  time.Duration
	output  string
	scrub   bool
	full    bool
	verbose bool
}

func newRecord() *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record RESOURCE[.VERSION.GROUP] -o FILE",
		Short: "Write down a live conversation with an API server as a trace",
		Long: `Mirror a resource until Ctrl-C or --for, and write down what the API server and the
reflector say to each other, with every chunk, pause and broken connection, as a trace
that relist replay runs. docs/trace-format.md describes the language.

Of an object the trace has its namespace, name, uid and version; --full keeps all of it.
Credentials are never recorded. --scrub replaces names, namespaces, uids, labels,
annotations, data and all other strings of objects by pseudonyms, in FILE and nowhere
else; versions, kinds, numbers and the server's own words stay. Read the file before you
give it away.

A conversation that leads to other requests when it is replayed is no trace: it is kept
as FILE.raw, and the exit status is 1.`,
		Example: `  relist record pods -A --for 5m -o pods.txt
  relist record deploy -n web -l app=shop --scrub -o shop.txt
  relist replay shop.txt`,
		Args:    oneResource,
		PreRunE: func(*cobra.Command, []string) error { return f.check() },
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.output, "output", "o", "", "`file` to write the trace to")
	addFor(flags, &f.runFor)
	flags.BoolVar(&f.scrub, "scrub", false, "replace everything that names or describes the objects")
	flags.BoolVar(&f.full, "full", false, "keep every field of the objects, those of Secrets too")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the conversation as it happens, unscrubbed")
	f.add(flags, "record")
	flags.IntVar(&f.pageSize, "page-size", 0, "objects asked for in one list request\n(default: 500 where it does not keep the server from using its cache)")
	f.connect.Add(flags)
	return cmd
}

func (f *recordFlags) check() error {
	if err := f.selection.check(); err != nil {
		return err
	}
	switch {
	case f.output == "":
		return usage("name a file for the trace with -o")
	case f.pageSize < 0:
		return usage("--page-size %d: want 1 or more", f.pageSize)
	}
	return nil
}

// run connects, records, and writes the file.
func (f *recordFlags) run(cmd *cobra.Command, name string) (err error) {
	ctx := cmd.Context()
	// Whether there is a place for the file is better known now than in an hour.
	file, err := os.CreateTemp(filepath.Dir(f.output), ".relist-record-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		if removed := os.Remove(file.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	cfg, err := f.config(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	client, err := transport.NewClient(cfg)
	if err != nil {
		return connect.Explain(err, cfg.Server, startTimeout)
	}
	defer client.Close()
	opts, err := f.options(ctx, cmd.ErrOrStderr(), client, cfg, name)
	if err != nil {
		return err
	}
	out := &printer{cmd: cmd}
	out.print("recording %s from %s\n", opts.Path, cfg.Server)
	if f.verbose {
		opts.Line = func(line string) { out.print("%s\n", line) }
	}
	if f.runFor > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.runFor)
		defer cancel()
	}
	recording, err := record.Record(ctx, client, opts)
	var diverged *record.DivergedError
	if err != nil && !errors.As(err, &diverged) {
		return err
	}
	path, text := f.output, recording.Trace
	if diverged != nil {
		path, text = f.output+".raw", recording.Raw
	}
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := errors.Join(file.Close(), os.Rename(file.Name(), path)); err != nil {
		return err
	}
	if diverged != nil {
		return fmt.Errorf("%w; the raw recording is in %s", diverged, path)
	}
	out.print("recorded %s: %d requests, %d objects; run it with: relist replay %s\n", path, recording.Requests, recording.Objects, path)
	return out.err
}

// options returns what is to be recorded.
func (f *recordFlags) options(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config, name string) (record.Options, error) {
	found, namespace, err := f.find(ctx, stderr, client, cfg, name)
	if err != nil {
		return record.Options{}, err
	}
	path, err := listwatch.Path(found.GroupVersionResource, namespace)
	return record.Options{
		Path:          path,
		Kind:          found.Kind,
		LabelSelector: f.labels,
		FieldSelector: f.fields,
		PageSize:      f.pageSize,
		Full:          f.full,
		Scrub:         f.scrub,
	}, err
}

// printer keeps the first error of stdout.
type printer struct {
	cmd *cobra.Command
	err error
}

func (p *printer) print(format string, args ...any) {
	if _, err := io.WriteString(p.cmd.OutOrStdout(), report.Lines(fmt.Sprintf(format, args...))); p.err == nil {
		p.err = err
	}
}
