// Plain replays files in a program that is no test.
package main

import (
	"fmt"
	"os"

	"github.com/relist-go/relist/trace"
)

func main() {
	for _, name := range os.Args[1:] {
		src, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		f, err := trace.Parse(name, src)
		if err != nil {
			panic(err)
		}
		_, err = trace.Replay(f, nil, nil)
		fmt.Println(name, err == nil)
	}
}
