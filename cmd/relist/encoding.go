package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/internal/cli"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/cbor"
)

// encodings are the values of --encoding. relist keeps objects as the bytes that came,
// so each encoding works for every resource that the server offers in it.
var encodings = map[string]listwatch.Encoding{
	"auto":     listwatch.Auto,
	"json":     listwatch.JSON,
	"protobuf": listwatch.Protobuf,
	"cbor":     cbor.Encoding,
}

// encodingFlags say in which form a command asks for objects.
type encodingFlags struct {
	name         string
	metadataOnly bool
}

func (f *encodingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "encoding", "auto", "ask for objects as json, protobuf or cbor; the server decides. auto: protobuf,\nor json if fields of objects are printed")
	flags.BoolVar(&f.metadataOnly, "metadata-only", false, "ask for the metadata of objects alone")
	cli.CompleteWords(cmd, "encoding", f.words()...)
}

func (*encodingFlags) words() []string { return slices.Sorted(maps.Keys(encodings)) }

func (f *encodingFlags) check() error {
	if _, ok := encodings[f.name]; !ok {
		return cli.Usage("--encoding %s: want one of %s", f.name, strings.Join(f.words(), ", "))
	}
	return nil
}

// of returns the encoding. If fields of objects are printed, auto is JSON.
func (f *encodingFlags) of(needsJSON bool) listwatch.Encoding {
	if needsJSON {
		return listwatch.JSON // check refuses the others
	}
	return encodings[f.name]
}
