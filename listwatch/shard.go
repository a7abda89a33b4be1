package listwatch

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// ErrShardIgnored is in the error of a list or a watch in which the server sent an object that
// [Options.ShardSelector] leaves out. Such a server does not know the parameter, and would give
// every replica of a program every object. None of the answer is used, so a reflector continues
// asking, and says why in its log and its status.
var ErrShardIgnored = errors.New("the server does not obey shardSelector; kube-apiserver needs version 1.36 and the feature gate ShardedListAndWatch")

// Shard returns a ShardSelector for one of count equal parts of a resource, by the hash of the
// objects' UIDs. index is from 0 to count-1; for any other index, Shard returns an error. Each
// object is in exactly one of the parts.
func Shard(index, count int) (string, error) {
	if index < 0 || index >= count {
		return "", fmt.Errorf("listwatch: there is no shard %d of %d; the first is 0", index, count)
	}
	bound := func(i int) string {
		if i == count {
			return hashEnd
		}
		start, _ := bits.Div64(uint64(i), 0, uint64(count))
		return fmt.Sprintf("0x%016x", start)
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, '%s', '%s')", bound(index), bound(index+1)), nil
}

// hashEnd is 2^64, the end of the last range.
const hashEnd = "0x10000000000000000"

// shard is a ShardSelector that was read, so that a client can see whether a server obeys it.
// https://kubernetes.io/docs/reference/kubernetes-api/common-parameters/common-parameters/
type shard struct {
	selector string
	by       string // what is hashed: a path
	ranges   []hashRange
}

// hashRange has the hashes from first to last, both included.
type hashRange struct{ first, last uint64 }

const (
	byUID       = "object.metadata.uid"
	byNamespace = "object.metadata.namespace"
)

// parseShard reads a selector: shardRange(path, 'start', 'end'), and more of them after ||. The
// server also accepts selectors that parseShard refuses, such as one in parentheses. An empty
// selector selects everything.
func parseShard(selector string) (*shard, error) {
	s := &shard{selector: selector}
	if selector == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(selector, "||") {
		by, r, ok := parseRange(strings.TrimSpace(part))
		if !ok || s.by != "" && s.by != by {
			return nil, fmt.Errorf("listwatch: ShardSelector %q: write shardRange(%s, '0x0000000000000000', '0x8000000000000000'), with a first bound "+
				"that is below the second, both of 16 digits, or '%s' at the end; or several of them with || between, all of them by %s or all by %s",
				selector, byUID, hashEnd, byUID, byNamespace)
		}
		s.by, s.ranges = by, append(s.ranges, r)
	}
	return s, nil
}

func parseRange(text string) (by string, r hashRange, ok bool) {
	text, begins := strings.CutPrefix(text, "shardRange(")
	text, ends := strings.CutSuffix(text, ")")
	args := strings.Split(text, ",")
	if !begins || !ends || len(args) != 3 {
		return "", r, false
	}
	for i, arg := range args {
		args[i] = strings.TrimSpace(arg)
	}
	first, past, ok1 := parseBound(args[1])
	end, whole, ok2 := parseBound(args[2])
	by = args[0]
	if !ok1 || !ok2 || past || by != byUID && by != byNamespace || first >= end && !whole {
		return "", r, false
	}
	return by, hashRange{first, end - 1}, true // 2^64-1 if end is 2^64, which was read as 0
}

// parseBound reads a bound in quotes. whole says that it is 2^64, and its value 0.
func parseBound(arg string) (bound uint64, whole, ok bool) {
	if len(arg) < 2 || arg[0] != arg[len(arg)-1] || arg[0] != '\'' && arg[0] != '"' {
		return 0, false, false
	}
	text := arg[1 : len(arg)-1]
	if text == hashEnd {
		return 0, true, true
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 16 || strings.ToLower(digits) != digits {
		return 0, false, false
	}
	bound, err := strconv.ParseUint(digits, 16, 64)
	return bound, false, err == nil
}

// has reports whether an object belongs to the shard. It returns true for an object whose metadata
// could not be read, because nobody can tell.
func (s *shard) has(meta object.Meta) bool {
	if len(s.ranges) == 0 || meta.Key == "" {
		return true
	}
	value := string(meta.UID)
	if s.by == byNamespace {
		namespace, _, err := object.SplitKey(meta.Key)
		if err != nil {
			return true
		}
		value = namespace
	} else if value == "" {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // it never fails
	sum := h.Sum64()
	return slices.ContainsFunc(s.ranges, func(r hashRange) bool { return r.first <= sum && sum <= r.last })
}

// check returns an error if an object that the server has sent is not in the shard.
func (s *shard) check(meta object.Meta) error {
	if s == nil || s.has(meta) {
		return nil
	}
	return fmt.Errorf("%w: %s is not in %s", ErrShardIgnored, meta.Key, s.selector)
}

// checkShardOption returns an error if a request asks for a shard of a shard, which no server has.
func (c *Client[T]) checkShardOption(opts *metav1.ListOptions) error {
	if opts.ShardSelector != "" && c.shard.selector != "" && opts.ShardSelector != c.shard.selector {
		return fmt.Errorf("two shard selectors: %q and that of the resource", opts.ShardSelector)
	}
	return nil
}
