// Command load serves objects to the programs that are measured, until its standard
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
	data := flag.String("data", "../../testdata/pods-300.json.gz", "`file` with a PodList, from which the Pods are made")
	pods := flag.Int("pods", 20_000, "`number` of Pods")
	configMaps := flag.Int("configmaps", 10_000, "`number` of ConfigMaps")
	alike := flag.Bool("alike", false, "serve Pods that differ only where they must")
	http2 := flag.Bool("http2", false, "serve HTTP/2 over TLS")
	gzip := flag.Bool("gzip", false, "compress lists")
	flag.Parse()
	if err := run(*data, *pods, *configMaps, *alike, *http2, *gzip); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(data string, pods, configMaps int, alike, http2, gzip bool) error {
	podSet, err := objects.Pods(data, pods, alike)
	if err != nil {
		return err
	}
	configMapSet, err := objects.ConfigMaps(configMaps)
	if err != nil {
		return err
	}
	url, failed, err := load.New(load.Options{Gzip: gzip}, podSet, configMapSet).Listen(http2)
	if err != nil {
		return err
	}
	fmt.Println(url)
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case err := <-failed:
		return err
	}
}
