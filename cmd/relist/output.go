package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/show"
)

func addColor(cmd *cobra.Command, when *report.ColorWhen) {
	cli.AddChoice(cmd, when, "color", "paint text: auto, on a terminal if NO_COLOR is not set; always; or never (default: auto)",
		cli.Choice[report.ColorWhen]{Word: "auto", Value: report.ColorAuto},
		cli.Choice[report.ColorWhen]{Word: "always", Value: report.ColorAlways},
		cli.Choice[report.ColorWhen]{Word: "never", Value: report.ColorNever})
}

// outputs are the words of -o. With [report.Bytes], objects are printed, by show.Formats.
var outputs = map[string]report.Format{
	"text": report.Text, "json": report.JSON, "none": report.None, "yaml": report.Bytes, "json-object": report.Bytes,
}

// outputFlags say how `relist mirror` prints what happens.
type outputFlags struct {
	word        string
	diff        bool
	showInitial bool
	color       report.ColorWhen

	initialSet bool          // --show-initial was given
	format     report.Format // Bytes if objects are printed
}

func (f *outputFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.word, "output", "o", "text", "text, json, none, yaml or json-object; see above")
	flags.BoolVar(&f.diff, "diff", false, "print which fields have changed, with -o text and -o json")
	flags.BoolVar(&f.showInitial, "show-initial", false, "print each object of every list, also of the first and if it has not changed, instead of\nthe number of these (default: not with -o text)")
	addColor(cmd, &f.color)
	cli.CompleteWords(cmd, "output", "text", "json", "none", "yaml", "json-object")
}

// needsJSON reports whether the output looks into objects, which is possible only in JSON.
func (f *outputFlags) needsJSON() bool { return f.diff || f.format == report.Bytes }

// check parses the value of -o, and refuses flags that do not go with it.
func (f *outputFlags) check(cmd *cobra.Command) error {
	f.initialSet = cmd.Flags().Changed("show-initial")
	var known bool
	f.format, known = outputs[f.word]
	switch {
	case !known:
		return cli.Usage("output format %q: want text, json, none, yaml or json-object", f.word)
	case f.diff && f.format != report.Text && f.format != report.JSON:
		return cli.Usage("--diff is for -o text and -o json")
	case f.initialSet && f.format == report.None:
		return cli.Usage("--show-initial is not for -o none")
	}
	return nil
}

// shows reports whether the line of a delta is printed.
func (f *outputFlags) shows(d report.Delta) bool {
	if !d.Initial || f.initialSet {
		return !d.Initial || f.showInitial
	}
	return f.format != report.Text
}

// mirrorOutput prints what several mirrors report. Its methods may be called from any
// goroutine.
type mirrorOutput struct {
	flags   *outputFlags
	name    string // of the command
	printer *report.Printer
	stderr  io.Writer
	log     *slog.Logger             // nil if stdout tells of problems
	object  func(show.Change) string // nil unless objects are printed
}

// open begins to print. stop ends the command when the output takes no more.
func (f *outputFlags) open(cmd *cobra.Command, stop func()) *mirrorOutput {
	opts := report.Terminal(cmd.OutOrStdout(), f.format, f.color)
	opts.Failed = func(error) { stop() } // Close returns the error
	opts.Live = opts.Live && f.format != report.Bytes
	o := &mirrorOutput{flags: f, name: cmd.CommandPath(), stderr: cmd.ErrOrStderr(), object: show.Formats[f.word], printer: report.NewPrinter(cmd.OutOrStdout(), opts)}
	if f.format == report.Bytes || f.format == report.None {
		o.log = cli.NewLog(o.stderr, slog.LevelWarn)
	}
	return o
}

func (o *mirrorOutput) report(t *target, l report.Line) {
	d, isDelta := l.(report.Delta)
	switch {
	case o.flags.format != report.Bytes:
		if isDelta && !o.flags.shows(d) {
			return
		}
		if isDelta && o.flags.diff {
			l = o.compared(t, d)
		}
		o.printer.PrintOf(t.label, l)
	case isDelta && o.flags.shows(d):
		o.printObject(t, d)
	}
}

// compared returns the line with the fields that have changed.
func (o *mirrorOutput) compared(t *target, d report.Delta) report.Delta {
	if d.Before == nil || d.Initial || d.Type == "Deleted" {
		return d
	}
	before, err := show.Object(d.Before, t.gvk)
	if err == nil {
		var after map[string]any
		if after, err = show.Object(d.Object, t.gvk); err == nil {
			d.Changes = show.Diff(before, after)
			return d
		}
	}
	cli.Complain(o.stderr, "%s: %s: %s\n", o.name, report.Word(d.Key), cli.OneLine(err))
	return d
}

func (o *mirrorOutput) printObject(t *target, d report.Delta) {
	object, err := show.Object(d.Object, t.gvk)
	if err != nil {
		cli.Complain(o.stderr, "%s: %s: %s\n", o.name, report.Word(d.Key), cli.OneLine(err))
		return
	}
	_, _ = io.WriteString(o.printer, o.object(show.Change{
		Type:     d.Type,
		Resource: strings.TrimSpace(t.label),
		Key:      d.Key,
		Version:  d.ResourceVersion,
		Object:   object,
	})) // Close returns the error
}

// close ends the output, and returns its error.
func (o *mirrorOutput) close() error {
	if err := o.printer.Close(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
