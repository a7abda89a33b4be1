// Command load serves Pods to the programs that are measured, until its standard
// input ends. The first line of its output is its URL. See package load.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/relist-go/relist/test/bench/load"
	"github.com/relist-go/relist/test/bench/objects"
)

func main() {
	pods := flag.Int("pods", 20_000, "`number` of Pods")
	http2 := flag.Bool("http2", false, "serve HTTP/2 over TLS")
	gzip := flag.Bool("gzip", false, "compress lists")
	flag.Parse()
	set, err := objects.Pods("../../testdata/pods-300.json.gz", *pods)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	fmt.Println(load.New(set, *gzip).Listen(*http2).URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
