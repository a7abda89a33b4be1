package apitest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
)

// shardOf reads the shard selector of a request. Without Options.Sharding it is ignored, as kube-apiserver ignores it without its
// feature gate. A selector that cannot be read is a 500, which is what kube-apiserver answers.
func (s *Server) shardOf(opts *internalversion.ListOptions) ([]sharding.ShardRangeRequirement, error) {
	if !s.opts.Sharding || opts.ShardSelector == "" {
		return nil, nil
	}
	ranges, err := parseShard(opts.ShardSelector)
	if err != nil {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "invalid shard selector: " + err.Error(),
		}}
	}
	return ranges, nil
}

// parseShard reads shardRange(path, 'start', 'end') and more of them after ||. kube-apiserver reads an expression of CEL, and so
// takes parentheses, too.
func parseShard(selector string) (ranges []sharding.ShardRangeRequirement, err error) {
	if strings.TrimSpace(selector) == "" {
		return nil, errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	for part := range strings.SplitSeq(selector, "||") {
		r, err := parseShardRange(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if len(ranges) > 0 && ranges[0].Key != r.Key {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", ranges[0].Key, r.Key)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func parseShardRange(call string) (r sharding.ShardRangeRequirement, err error) {
	name, rest, opened := strings.Cut(call, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	switch {
	case !opened || !closed:
		return r, errors.New("unexpected expression kind 3; expected shardRange() call or || operator")
	case name != "shardRange":
		return r, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", name)
	}
	args := strings.Split(rest, ",")
	if len(args) != 3 {
		return r, fmt.Errorf("shardRange() requires exactly 3 arguments, got %d", len(args))
	}
	r.Key = strings.TrimSpace(args[0])
	if r.Key != "object.metadata.uid" && r.Key != "object.metadata.namespace" {
		return r, fmt.Errorf("unsupported field path %q; supported: object.metadata.uid, object.metadata.namespace", r.Key)
	}
	if r.Start, err = parseShardBound("hexStart", args[1]); err != nil {
		return r, err
	}
	if r.End, err = parseShardBound("hexEnd", args[2]); err != nil {
		return r, err
	}
	if !sharding.HexLess(r.Start, r.End) {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return r, nil
}

// parseShardBound reads a bound: 16 digits in quotes, or 2^64.
func parseShardBound(name, arg string) (string, error) {
	arg = strings.TrimSpace(arg)
	if len(arg) < 2 || arg[0] != arg[len(arg)-1] || arg[0] != '\'' && arg[0] != '"' {
		return "", fmt.Errorf("%s must be a string literal, got %s", name, arg)
	}
	bound := arg[1 : len(arg)-1]
	digits, ok := strings.CutPrefix(bound, "0x")
	switch {
	case !ok:
		return "", fmt.Errorf("%s must have '0x' prefix, got %q", name, bound)
	case digits == "":
		return "", fmt.Errorf("%s: hex value is required after '0x'", name)
	case len(digits) > 17:
		return "", fmt.Errorf("%s: hex value too long (%d chars, max 17): %q", name, len(digits), digits)
	}
	for _, c := range digits {
		if !strings.ContainsRune("0123456789abcdef", c) {
			return "", fmt.Errorf("%s: invalid hex character %q in %q", name, string(c), bound)
		}
	}
	switch {
	case bound == "0x10000000000000000" || len(digits) == 16:
		return bound, nil
	case len(digits) == 17:
		return "", fmt.Errorf("%s: 17-digit hex value must be '0x10000000000000000' (2^64), got %q", name, bound)
	}
	return "", fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean %q?)", name, bound,
		"0x"+strings.Repeat("0", 16-len(digits))+digits)
}

// inShard reports whether an object is in one of the ranges.
func (s selection) inShard(r *revision) bool {
	if len(s.shard) == 0 {
		return true
	}
	value := r.uid
	if s.shard[0].Key == "object.metadata.namespace" {
		value = r.namespace
	}
	hash := "0x" + sharding.HashField(value)
	for _, part := range s.shard {
		if !sharding.HexLess(hash, part.Start) && sharding.HexLess(hash, part.End) {
			return true
		}
	}
	return false
}

// shardInfo is what a list of whole objects says of its shard.
func (s selection) shardInfo() *metav1.ShardInfo {
	if len(s.shard) == 0 {
		return nil
	}
	return &metav1.ShardInfo{Selector: sharding.NewSelector(s.shard...).String()}
}
