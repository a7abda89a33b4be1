// Plain replays files in a program that is no test.
package main

import (
	"fmt"
	"os"

	"github.com/relist-go/relist/trace"
)

func main() {
	err := trace.Replay(trace.ReplayOptions{
		Done: func(file string, err error) { fmt.Println(file, err == nil) },
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
