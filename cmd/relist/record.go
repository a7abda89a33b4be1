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

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/record"
	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

type recordFlags struct {
	cli.Selection
	runFor  time.Duration
	output  string
	scrub   bool
	verbose bool
}

func newRecord() *cobra.Command {
	f := &recordFlags{Selection: cli.Selection{Program: "relist"}}
	cmd := &cobra.Command{
		Use:   "record RESOURCE[.VERSION.GROUP] -o FILE",
		Short: "Record a live conversation with an API server as a trace",
		Long: `Mirror a resource until Ctrl-C or --for, and record the requests of the
reflector and the answers of the API server, with every chunk, pause and broken
connection. The file is a trace that relist replay runs. docs/trace-format.md
describes the language.

Its answers are to what relist's reflector asks: for another client, take those
out that it does not ask for.

The trace has the namespace, name, uid and version of each object, and nothing
else of it. The client asks for JSON over HTTP. Credentials are never recorded.
--scrub replaces names, namespaces, uids, selectors and continue tokens with
pseudonyms that sort in the same order. Of an error it keeps the code, the
reason if it is one of Kubernetes, the seconds to wait, and a message about
versions. -v prints the conversation with the true names. Read the file before
you give it away.

At the end, relist replays the conversation. If the replay leads to other
requests, relist writes the conversation to FILE.raw instead of FILE, and the
exit status is 1.`,
		Example: `  relist record pods -A --for 5m -o pods.txt
  relist record deploy -n web -l app=shop --scrub -o shop.txt
  relist replay shop.txt`,
		Args:              cli.OneResource,
		PreRunE:           func(*cobra.Command, []string) error { return f.check() },
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.output, "output", "o", "", "`file` to write the trace to")
	cli.AddFor(flags, &f.runFor)
	flags.BoolVar(&f.scrub, "scrub", false, "replace names with pseudonyms; the text above lists what stays")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the conversation as it happens, with the true names")
	f.Add(flags, "record")
	flags.IntVar(&f.PageSize, "page-size", 0, "objects asked for in one list request\n(default: 500, or all at once where the server answers only that from its cache)")
	f.Connect.Add(flags)
	return cmd
}

func (f *recordFlags) check() error {
	if err := f.Check(); err != nil {
		return err
	}
	switch {
	case f.output == "":
		return cli.Usage("name a file for the trace with -o")
	case f.PageSize < 0:
		return cli.Usage("--page-size %d: want 1 or more", f.PageSize)
	}
	return nil
}

// run connects, records, and writes the file.
func (f *recordFlags) run(cmd *cobra.Command, name string) (err error) {
	ctx, cancel := cli.For(cmd.Context(), f.runFor)
	defer cancel()
	// If the file cannot be created, the user learns that now, and not after an hour of recording.
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
	cfg, client, err := f.Client(ctx, cmd.ErrOrStderr(), transport.WatchHTTP)
	if err != nil {
		return err
	}
	defer client.Close()
	opts, err := f.options(ctx, cmd.ErrOrStderr(), client, cfg, name)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { _ = cli.Print(cmd.OutOrStdout(), format, args...) } // the recording is worth more; Execute tells
	say("recording %s from %s\n", opts.Path, cfg.Server)
	if f.verbose {
		opts.Line = func(line string) { say("%s\n", line) }
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
	if recording.Unsynced != nil {
		say("the client had no whole list: %s\n", visible.OneLine(recording.Unsynced.Error()))
	}
	say("recorded %s: %d requests, %d objects; run it with: relist replay %s\n", path, recording.Requests, recording.Objects, path)
	return nil
}

func (f *recordFlags) options(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config, name string) (record.Options, error) {
	found, namespace, err := f.Find(ctx, stderr, client, cfg, name)
	if err != nil {
		return record.Options{}, err
	}
	path, err := listwatch.Path(found.GroupVersionResource, namespace)
	return record.Options{
		Path:          path,
		Kind:          found.Kind,
		LabelSelector: f.Labels,
		FieldSelector: f.Fields,
		PageSize:      f.PageSize,
		Scrub:         f.scrub,
	}, err
}
