package apitest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
)

// The log and the caches of a type are made when somebody writes or asks for it. Nobody can tell:
// the answers are those of a server of which somebody has always asked for every type.
func TestTypesThatNobodyHasUsed(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 4 // the race detector makes a history take a second
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := Options{Window: 3, NoProgress: seed%2 == 1}
				always, late := serve(t, opts), serve(t, opts)
				always.use(rand.New(rand.NewPCG(seed, 3)), func() { always.ask(0) })
				late.use(rand.New(rand.NewPCG(seed, 3)), func() {})
				if a, b := always.ask(40), late.ask(40); a != b {
					t.Errorf("asked from the start:\n%s\nasked at the end:\n%s", a, b)
				}
			})
		})
	}
}

// typesForUse are written with falling probability, and the last never.
var typesForUse = []string{"configmaps", "secrets", "serviceaccounts", "endpoints"}

// use makes random changes and faults, and looks before each.
func (f *fixture) use(rnd *rand.Rand, look func()) {
	f.Replica("b")
	for range 25 {
		look()
		var err error
		switch rnd.IntN(12) {
		case 0:
			f.Compact()
		case 1:
			f.Replica("b").Freeze()
		case 2:
			f.Replica("b").Unfreeze()
		case 3:
			f.Replica("c") // it begins now
		case 4:
			err = f.Refill(typesForUse[rnd.IntN(2)])
		case 5:
			back := max(int(f.storage.rv)-rnd.IntN(4), int(f.storage.compacted))
			err = f.Restore(Restore{ResourceVersion: fmt.Sprint(back), KeepConnections: true})
		default:
			resource := typesForUse[min(rnd.IntN(3), rnd.IntN(3), rnd.IntN(3))]
			name := fmt.Sprint(rnd.IntN(2))
			if _, known := f.Get(resource, "d", name); known == nil {
				_, err = f.Delete(resource, "d", name)
			} else {
				_, err = f.Create(resource, configMap("d", name))
			}
		}
		if err != nil {
			f.Error(err)
		}
	}
}

// ask returns what each replica has of each type: now, and at each version up to one.
func (f *fixture) ask(upTo int) string {
	var all strings.Builder
	for _, replica := range f.storage.replicas {
		f.Route(replica)
		for _, resource := range typesForUse {
			path := "/api/v1/" + resource
			fmt.Fprintf(&all, "%q %s: %s", replica.name, resource, describe(f.list(path+"?resourceVersion=0")))
			for v := range upTo {
				fmt.Fprintf(&all, " | %d: %s,", v+1, describe(f.list(fmt.Sprintf("%s?resourceVersion=%d&resourceVersionMatch=Exact", path, v+1))))
				for line := range strings.Lines(f.get(fmt.Sprintf("%s?watch=1&timeoutSeconds=1&resourceVersion=%d", path, v+1)).body) {
					var e frame
					if err := json.Unmarshal([]byte(line), &e); err != nil {
						f.Fatal(err)
					}
					fmt.Fprintf(&all, " %s", e)
				}
			}
			all.WriteByte('\n')
		}
	}
	return all.String()
}
