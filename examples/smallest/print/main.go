// Print follows one collection with the smallest client, and prints each delta. Its argument is the
// URL of the collection, which a kubectl proxy gives, for example:
//
//	go run ./examples/smallest/print http://127.0.0.1:8001/api/v1/namespaces/default/configmaps
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/examples/smallest"
	"github.com/relist-go/relist/store"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: print URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held := store.New(store.Options[*smallest.Object]{})
	queue := deltafifo.New(deltafifo.Options[*smallest.Object]{Known: held})
	r := &smallest.Reflector{
		HTTP:    http.DefaultClient,
		URL:     os.Args[1],
		Queue:   queue,
		Rand:    rand.Float64,
		Problem: func(class, key string, err error) { log.Println(class, key, err) },
	}
	var consumer sync.WaitGroup
	consumer.Go(func() {
		for ctx.Err() == nil {
			err := queue.Pop(ctx, func(e deltafifo.Entry[*smallest.Object]) error {
				for _, d := range e.Deltas {
					fmt.Println(d.Type, e.Key, d.Object.ResourceVersion)
				}
				return smallest.Apply(held, e)
			})
			if err != nil && ctx.Err() == nil {
				log.Println(err)
			}
		}
	})
	_ = r.Run(ctx) // until ctx ends, as the consumer
	consumer.Wait()
}
