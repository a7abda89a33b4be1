package apitest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/relist-go/relist/server/watchcache"
)

// selectShard reads the shard selector of a request. Without Options.Sharding it is ignored, as
// kube-apiserver ignores it without its feature gate. A selector that cannot be read is a 500,
// which is what kube-apiserver answers.
func (s *Server) selectShard(sel *selection, opts *internalversion.ListOptions) error {
	if !s.opts.Sharding || opts.ShardSelector == "" {
		return nil
	}
	ranges, err := parseShard(opts.ShardSelector)
	if err != nil {
		return fmt.Errorf("invalid shard selector: %w", err)
	}
	sel.shard = ranges
	sel.Also = sel.inShard
	return nil
}

// shardRange is a call in a shard selector: what is hashed, and the bounds of the hashes, which are
// 2^64 or have 16 digits.
var shardRange = regexp.MustCompile(`^shardRange\(\s*(object\.metadata\.(?:uid|namespace))\s*,\s*` + shardBound + `\s*,\s*` + shardBound + `\s*\)$`)

const shardBound = `['"](0x(?:[0-9a-f]{16}|10000000000000000))['"]`

// parseShard reads a call of shardRange, and more of them after ||. kube-apiserver reads an
// expression of CEL, and so takes parentheses, too.
func parseShard(selector string) (ranges []sharding.ShardRangeRequirement, err error) {
	for part := range strings.SplitSeq(selector, "||") {
		call := shardRange.FindStringSubmatch(strings.TrimSpace(part))
		if call == nil || !sharding.HexLess(call[2], call[3]) || len(ranges) > 0 && ranges[0].Key != call[1] {
			return nil, fmt.Errorf("expected calls of shardRange() with one field and ascending bounds: %q", part)
		}
		ranges = append(ranges, sharding.ShardRangeRequirement{Key: call[1], Start: call[2], End: call[3]})
	}
	return ranges, nil
}

// inShard reports whether an object is in one of the ranges.
func (s selection) inShard(o watchcache.Object) bool {
	value := string(o.GetUID())
	if s.shard[0].Key == "object.metadata.namespace" {
		value = o.GetNamespace()
	}
	hash := "0x" + sharding.HashField(value)
	return slices.ContainsFunc(s.shard, func(part sharding.ShardRangeRequirement) bool {
		return !sharding.HexLess(hash, part.Start) && sharding.HexLess(hash, part.End)
	})
}

// shardInfo is what a list of whole objects says of its shard.
func (s selection) shardInfo() *metav1.ShardInfo {
	if len(s.shard) == 0 {
		return nil
	}
	return &metav1.ShardInfo{Selector: sharding.NewSelector(s.shard...).String()}
}
