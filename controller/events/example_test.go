package events_test

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller/events"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

type Shop struct {
	metav1.ObjectMeta `json:"metadata"`
}

func ExampleRecorder() {
	var (
		ctx      context.Context
		client   *transport.Client
		shop     *Shop
		shopType = object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}
	)
	_ = func() error {
		rec, err := events.New(client, events.Options{Controller: "example.com/shop-operator"})
		if err != nil {
			return err
		}
		var beside sync.WaitGroup
		beside.Go(func() { _ = rec.Run(ctx) }) // ends with ctx, when the last counts are sent
		defer beside.Wait()

		rec.Event(shop, shopType, events.Warning, "Unpublished", "Write", "the price of %s is no number", "bread")
		return nil
	}
}
