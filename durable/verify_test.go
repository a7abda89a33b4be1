package durable_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
)

// A database that fails while the rows are compared with the server says nothing about the rows: no
// difference is reported.
func TestVerificationOfACopyThatFails(t *testing.T) {
	for _, call := range []string{"held", "keys"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			for i := range 12 {
				r.create("a", fmt.Sprint("o", i), nil)
			}
			configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
			must.OK(t, err)
			metadata, err := configs.Metadata()
			must.OK(t, err)
			var armed atomic.Bool
			r.fail = func(of string) (error, error) {
				if of == call && armed.Swap(false) {
					return errDatabase, nil
				}
				return nil, nil
			}
			var verified, failed atomic.Int64
			_ = r.run(listwatch.Options[*thing]{}, func(o *durable.Options) {
				o.Reflector.Verify = reflector.VerifyOptions{Interval: time.Minute, Metadata: metadata}
				o.Reflector.Trace = &reflector.Trace{Verified: func(v reflector.Verified) {
					verified.Add(1)
					if v.Differences != 0 || v.Objects != 12 {
						t.Errorf("%s fails: %d differences in %d objects; want none in 12", call, v.Differences, v.Objects)
					}
				}}
				o.Trace = &durable.Trace{Failed: func(durable.Failure) { failed.Add(1) }}
			}, func(*durable.Mirror[*thing]) {
				later(2 * time.Minute)
				before := verified.Load()
				armed.Store(true)
				later(12 * time.Minute)
				if after := verified.Load(); before == 0 || failed.Load() != 1 || after < before+5 {
					t.Errorf("%s fails: %d and %d verifications, and %d failures; want some and one", call, before, after, failed.Load())
				}
			})
		})
	}
}
