package listwatch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apisharding "k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// Every hash is in exactly one part, and apimachinery sees it in the same.
func TestShard(t *testing.T) {
	for _, count := range []int{1, 2, 3, 7, 64, 1000} {
		var parts []*shard
		var oracles []apisharding.Selector
		end := "0x0000000000000000"
		for i := range count {
			selector, err := Shard(i, count)
			must.OK(t, err)
			part, err := parseShard(selector)
			must.OK(t, err)
			start := strings.Split(selector, "'")[1]
			if start != end {
				t.Fatalf("part %d of %d begins at %s, and the one before ends at %s", i, count, start, end)
			}
			end = strings.Split(selector, "'")[3]
			parts = append(parts, part)
			oracles = append(oracles, apisharding.NewSelector(apisharding.ShardRangeRequirement{Key: byUID, Start: start, End: end}))
		}
		if end != hashEnd {
			t.Fatalf("%d parts end at %s", count, end)
		}
		for n := range 100 {
			uid := types.UID(fmt.Sprintf("uid-%d", n))
			in := 0
			for i, part := range parts {
				has := part.has(object.Meta{Key: "a/b", UID: uid})
				oracle, err := oracles[i].Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}})
				if err != nil || has != oracle {
					t.Fatalf("%s in part %d of %d: %v, want %v, %v", uid, i, count, has, oracle, err)
				}
				if has {
					in++
				}
			}
			if in != 1 {
				t.Fatalf("%s is in %d of %d parts", uid, in, count)
			}
		}
	}
	for _, wrong := range [][2]int{{3, 3}, {-1, 3}, {0, 0}, {0, -1}} {
		if selector, err := Shard(wrong[0], wrong[1]); err == nil {
			t.Errorf("shard %d of %d is %q", wrong[0], wrong[1], selector)
		}
	}
}

// FuzzShard: a selector that New takes has ranges, and tells of each object whether it is in them,
// as apimachinery does.
func FuzzShard(f *testing.F) {
	for _, seed := range []string{
		"", "x", "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
		`shardRange(object.metadata.namespace,"0x8000000000000000","0x10000000000000000") || shardRange( object.metadata.namespace , '0x0000000000000000', '0x0000000000000001' )`,
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x10000000000000000', '0x10000000000000000')",
		"shardRange(object.metadata.uid, '0X0000000000000000', '0x+000000000000000')",
		"shardRange(object.metadata.uid, ', ')", "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
	} {
		f.Add(seed, "uid", "shop")
	}
	f.Fuzz(func(t *testing.T, selector, uid, namespace string) {
		part, err := parseShard(selector)
		if err != nil {
			return
		}
		var ranges []apisharding.ShardRangeRequirement
		for _, r := range part.ranges {
			end := hashEnd
			if r.last != 1<<64-1 {
				end = fmt.Sprintf("0x%016x", r.last+1)
			}
			ranges = append(ranges, apisharding.ShardRangeRequirement{Key: part.by, Start: fmt.Sprintf("0x%016x", r.first), End: end})
			if !strings.Contains(selector, ranges[len(ranges)-1].Start) || !strings.Contains(selector, end) {
				t.Errorf("%q was read as %v", selector, ranges)
			}
		}
		if (selector == "") != (len(ranges) == 0) {
			t.Fatalf("%q has no ranges", selector)
		}
		if uid == "" || namespace == "" || strings.Contains(namespace, "/") {
			return
		}
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: namespace}}
		want, err := apisharding.NewSelector(ranges...).Matches(obj)
		must.OK(t, err)
		if got := part.has(object.Meta{Key: namespace + "/a", UID: types.UID(uid)}); got != want {
			t.Errorf("%q, %s in %s: %v, want %v", selector, uid, namespace, got, want)
		}
	})
}

func TestNewRefusesShards(t *testing.T) {
	client := serve(t, http.NotFound)
	for _, selector := range []string{" ", "x", "shardRange(object.metadata.uid, '0x0', '0x8')", "shard 1 of 3"} {
		if _, err := New(client, configMaps, Options[*configMap]{ShardSelector: selector}); err == nil || !strings.Contains(err.Error(), "shardRange(") {
			t.Errorf("%q: error %v", selector, err)
		}
	}
}

// shards answers lists without an object and watches without an event, and writes down the selector
// of each request.
type shards struct{ asked []string }

func (s *shards) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	s.asked = append(s.asked, q.Get("shardSelector"))
	w.Header().Set("Content-Type", "application/json")
	if q.Has("watch") {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
		return
	}
	_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
}

// Every request of a Client has its shard, and so has every request for the metadata.
func TestShardIsAskedFor(t *testing.T) {
	server := &shards{}
	half := "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	quarter := "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')"
	r := mustNew(t, serve(t, server.ServeHTTP), Options[*configMap]{ShardSelector: half})
	metadata, err := r.Metadata()
	must.OK(t, err)
	if _, err := r.List(t.Context(), metav1.ListOptions{ShardSelector: half}); err != nil {
		t.Error(err)
	}
	if _, err := metadata.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	w, err := r.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
	must.OK(t, err)
	defer w.Close()
	if want := []string{half, half, half}; !slices.Equal(server.asked, want) {
		t.Errorf("asked for %q, want %q", server.asked, want)
	}
	if _, err := r.List(t.Context(), metav1.ListOptions{ShardSelector: quarter}); err == nil || !strings.Contains(err.Error(), "two shard selectors") {
		t.Errorf("a list with two selectors: %v", err)
	}
	if _, err := r.Watch(t.Context(), metav1.ListOptions{ShardSelector: quarter}); err == nil || !strings.Contains(err.Error(), "two shard selectors") {
		t.Errorf("a watch with two selectors: %v", err)
	}
}

// Nothing of an answer is used that has an object of another shard.
func TestShardIgnored(t *testing.T) {
	const body = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"shop","name":"a","uid":"u1","resourceVersion":"4"}}`
	none := "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')"
	client := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, `{"type":"DELETED","object":`+body+"}\n")
			return
		}
		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[`+body+`]}`)
	})
	r := mustNew(t, client, Options[*configMap]{ShardSelector: none})
	_, err := r.List(t.Context(), metav1.ListOptions{})
	if !errors.Is(err, ErrShardIgnored) || !source.IsMalformed(err) || !strings.Contains(err.Error(), "shop/a is not in "+none) {
		t.Errorf("list: %v", err)
	}
	known := func(string) (*configMap, object.Meta, bool) {
		return &configMap{}, object.Meta{UID: "u1", ResourceVersion: "4"}, true
	}
	handedOver := func(source.Part[*configMap]) error { return errors.New("a part was handed over") }
	if _, err := source.EachKnown(t.Context(), r, metav1.ListOptions{}, known, handedOver); !errors.Is(err, ErrShardIgnored) {
		t.Errorf("list of a known object: %v", err)
	}
	if _, err := source.Each(t.Context(), r, metav1.ListOptions{}, handedOver); !errors.Is(err, ErrShardIgnored) {
		t.Errorf("list in parts: %v", err)
	}
	w, err := r.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "3"})
	must.OK(t, err)
	defer w.Close()
	if _, err := w.Next(); !errors.Is(err, ErrShardIgnored) {
		t.Errorf("watch: %v", err)
	}
	all := mustNew(t, client, Options[*configMap]{})
	if page, err := all.List(t.Context(), metav1.ListOptions{}); err != nil || len(page.Items) != 1 {
		t.Errorf("without a shard: %v", err)
	}
}
