package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// The commands.
type (
	start struct {
		of      resource
		options Options
		headers []string  // of requests, to be printed
		random  []float64 // what the client draws; nil for 0
	}
	pop     struct{ n int }
	store   struct{}
	sleep   struct{ d time.Duration }
	wait    struct{ d time.Duration }
	stop    struct{}
	restart struct{ saved bool } // saved: a new client continues with what the last one has saved
)

// The transports of the start line that are not HTTP/1.1.
const (
	overHTTP2     = "http2"
	overWebSocket = "websocket"
)

// maxWait is how long wait waits if the line gives no time.
const maxWait = time.Hour

func parseCommand(text string) (stimulus, error) {
	name, rest, hasRest := strings.Cut(text, " ")
	if hasRest && rest == "" {
		return nil, fmt.Errorf("%q ends with a space", text)
	}
	if name == "start" {
		return parseStart(rest)
	}
	var args []string
	if hasRest {
		args = strings.Split(rest, " ")
	}
	switch {
	case name == "pop" && len(args) == 1:
		n, err := parseCount(args[0])
		return pop{n: n}, err
	case name == "sleep" && len(args) == 1:
		d, err := parseDuration(args[0])
		return sleep{d: d}, err
	case name == "wait" && len(args) == 0:
		return wait{d: maxWait}, nil
	case name == "wait" && len(args) == 1:
		d, err := parseDuration(args[0])
		return wait{d: d}, err
	case name == "store" && len(args) == 0:
		return store{}, nil
	case name == "stop" && len(args) == 0:
		return stop{}, nil
	case name == "restart" && len(args) == 0:
		return restart{}, nil
	case text == "restart saved":
		return restart{saved: true}, nil
	case slices.Contains([]string{"pop", "sleep", "wait", "store", "stop", "restart"}, name):
		return nil, fmt.Errorf("%s: want pop N, sleep D, wait [D], store, stop or restart [saved]", text)
	}
	return nil, fmt.Errorf("unknown command %q: want start, pop, store, sleep, wait, stop or restart", name)
}

// parseShard reads I/N, one of N equal parts.
func parseShard(text string) (string, error) {
	index, count, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil {
		return "", fmt.Errorf("%q: want I/N, such as 0/2", text)
	}
	return listwatch.Shard(i, n)
}

func parseStart(text string) (stimulus, error) {
	w, err := parseWords(text, "path", "kind", "selector", "field-selector", "shard", "drop", "limit", "resync", "verify", "encoding", "transport", "headers", "random")
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := w.noJSON(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	s := &start{options: Options{LabelSelector: w.options["selector"], FieldSelector: w.options["field-selector"], Drop: w.options["drop"]}}
	if s.of, err = w.resource(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	for i, word := range w.plain {
		switch {
		case slices.Contains(w.plain[:i], word):
			return nil, fmt.Errorf("start: %q occurs twice", word)
		case word == "watchlist":
			s.options.WatchList = true
		case word == "coalesce":
			s.options.Coalesce = true
		case word == "gzip":
			s.options.Gzip = true
		default:
			return nil, fmt.Errorf("start: unknown word %q: want watchlist, coalesce or gzip", word)
		}
	}
	if text, ok := w.options["shard"]; ok {
		if s.options.ShardSelector, err = parseShard(text); err != nil {
			return nil, fmt.Errorf("start: shard: %w", err)
		}
	}
	if text, ok := w.options["limit"]; ok {
		if s.options.Limit, err = parseCount(text); err != nil {
			return nil, fmt.Errorf("start: limit: %w", err)
		}
	}
	for name, period := range map[string]*time.Duration{"resync": &s.options.Resync, "verify": &s.options.Verify} {
		text, ok := w.options[name]
		if !ok {
			continue
		}
		if *period, err = parseDuration(text); err != nil {
			return nil, fmt.Errorf("start: %s: %w", name, err)
		}
	}
	switch name, ok := w.options["transport"]; {
	case name == overHTTP2, name == overWebSocket:
		s.options.Transport = name
	case ok && name != "http1":
		return nil, fmt.Errorf("start: transport=%s: want http1, http2 or websocket", name)
	}
	switch name, ok := w.options["encoding"]; {
	case name == string(protobufEncoding):
		s.options.Encoding, s.of.encoding = name, encoding(name)
	case ok && name != string(jsonEncoding):
		return nil, fmt.Errorf("start: encoding=%s: want json or protobuf", name)
	}
	if headers, ok := w.options["headers"]; ok {
		s.headers = strings.Split(headers, ",")
		if slices.Contains(s.headers, "") {
			return nil, fmt.Errorf("start: headers=%s: a name is empty", headers)
		}
	}
	if numbers, ok := w.options["random"]; ok {
		for _, text := range strings.Split(numbers, ",") {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil || !(number >= 0 && number < 1) {
				return nil, fmt.Errorf("start: random=%s: %q is not a number from 0 to below 1", numbers, text)
			}
			s.random = append(s.random, number)
		}
	}
	return s, nil
}

// resource returns the resource of the options path and kind.
func (w *words) resource() (resource, error) {
	path, kind := configMaps.path, configMaps.kind
	if text, ok := w.options["path"]; ok {
		path = text
	}
	if text, ok := w.options["kind"]; ok {
		kind = text
	}
	return resourceAt(path, kind)
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a number of 1 or more", text)
	}
	return n, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time such as 800ms, 1.6s or 5m10s", text)
	}
	return d, nil
}
