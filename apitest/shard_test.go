package apitest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid,\"0x8000000000000000\",\"0x10000000000000000\")"
)

// Each object is in one of two halves, in lists and in watches.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{Sharding: true})
		in := func(query string) string {
			return "http://localhost/api/v1/configmaps?shardSelector=" + url.QueryEscape(query)
		}
		lower := openWatch(t, f.client, in(lowerHalf)+"&watch=1&resourceVersion=1")
		upper := openWatch(t, f.client, in(upperHalf)+"&watch=1&resourceVersion=1")
		count := map[*watcher]int{}
		for i := range 40 {
			rv := f.create(fmt.Sprintf("shop/c%d", i))
			lists := [2]string{}
			for i, half := range []string{lowerHalf, upperHalf} {
				lists[i] = request(t, f.client, "GET", in(half), "").body
			}
			added, inLower := fmt.Sprintf("ADDED c%d@%s", i, rv), strings.Contains(lists[0], fmt.Sprintf(`"name":"c%d"`, i))
			if inUpper := strings.Contains(lists[1], fmt.Sprintf(`"name":"c%d"`, i)); inLower == inUpper {
				t.Fatalf("c%d is in both halves or in none", i)
			}
			w := upper
			if inLower {
				w = lower
			}
			w.want(added) // and the other watch has nothing before its own next one
			count[w]++
		}
		if len(count) != 2 {
			t.Errorf("all 40 objects are in one half")
		}
		all := request(t, f.client, "GET", in(upperHalf+" || "+lowerHalf), "").body
		if n := strings.Count(all, `"name":`); n != 40 {
			t.Errorf("%d objects in both halves together", n)
		}
		if want := `"shardInfo":{"selector":"shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000') || shardRange(`; !strings.Contains(all, want) {
			t.Errorf("the list does not say its shard: %.300s", all)
		}
		metadata := request(t, f.client, "GET", in(upperHalf), "", "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").body
		if strings.Contains(metadata, "shardInfo") || !strings.Contains(metadata, `"items":[{`) {
			t.Errorf("metadata alone: %.300s", metadata)
		}
	})
}

// One namespace is one shard.
func TestShardsOfNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{Sharding: true})
		f.create("a/x", "a/y", "b/x", "b/y", "c/x", "c/y", "d/x", "d/y")
		for _, half := range []string{lowerHalf, upperHalf} {
			half = strings.ReplaceAll(half, "uid", "namespace")
			body := request(t, f.client, "GET", "http://localhost/api/v1/configmaps?shardSelector="+url.QueryEscape(half), "").body
			for _, ns := range []string{"a", "b", "c", "d"} {
				if n := strings.Count(body, `"namespace":"`+ns+`"`); n != 0 && n != 2 {
					t.Errorf("%d objects of %s in one half", n, ns)
				}
			}
		}
	})
}

// A selector that cannot be read is a 500.
func TestMalformedShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{Sharding: true})
		for _, selector := range []string{
			"x", " ", "f(1)", "shardRange(object.metadata.uid)",
			"shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
			"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
			"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
			lowerHalf + " || " + strings.ReplaceAll(lowerHalf, "uid", "namespace"),
		} {
			for _, rest := range []string{"", "&watch=1&resourceVersion=1"} {
				got := request(t, f.client, "GET", "http://localhost/api/v1/configmaps?shardSelector="+url.QueryEscape(selector)+rest, "")
				if got.code != 500 || !strings.Contains(got.body, `"message":"invalid shard selector: `) {
					t.Errorf("%s: %d %s", selector, got.code, got.body)
				}
			}
		}
	})
}

// Without the feature gate, kube-apiserver does not look at the parameter.
func TestShardsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{})
		f.create("shop/a", "shop/b", "shop/c", "shop/d")
		got := request(t, f.client, "GET", "http://localhost/api/v1/configmaps?shardSelector=nonsense", "")
		if got.code != 200 || strings.Count(got.body, `"name":`) != 4 || strings.Contains(got.body, "shardInfo") {
			t.Errorf("%d %s", got.code, got.body)
		}
	})
}
