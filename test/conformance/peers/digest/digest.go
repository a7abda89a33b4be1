// Package digest is what the programs of test/conformance/peers have in common with their driver:
// the digest of a set of ConfigMaps, and the lines in which a program prints it.
//
// A program prints "COUNT DIGEST" each time that it holds something else than before; it looks ten
// times a second. It prints "stopped REASON" if its library says that it will not go on. The
// programs that are not Go write the same lines: this package is the definition.
//
// The digest is the first 16 hexadecimal digits of the SHA-256 of all ConfigMaps, ordered by
// namespace and then name, byte by byte. Each is its namespace, its name, and the keys and values
// of its data in the order of the keys; a NUL follows each of these strings, and a newline the
// whole. ConfigMaps whose name begins with "poison" are left out, see [Object.Counts].
package digest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Object is a ConfigMap as far as a digest covers it.
type Object struct {
	Namespace, Name string
	Data            map[string]string
}

// Counts reports whether a digest covers o. A ConfigMap that is there to be undecodable cannot be
// compared: clients may drop it, keep its last state, or have a type that any data fits.
func (o Object) Counts() bool { return !strings.HasPrefix(o.Name, "poison") }

// Line is what a program prints that holds these objects, without the newline.
func Line(objects []Object) string {
	objects = slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return !o.Counts() })
	slices.SortFunc(objects, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var text []byte
	for _, o := range objects {
		text = append(append(text, o.Namespace...), 0)
		text = append(append(text, o.Name...), 0)
		for _, key := range slices.Sorted(maps.Keys(o.Data)) {
			text = append(append(text, key...), 0)
			text = append(append(text, o.Data[key]...), 0)
		}
		text = append(text, '\n')
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%d %x", len(objects), sum[:8])
}

// Print writes the line of what held returns to w each time that it changes, until ctx ends or w
// fails.
func Print(ctx context.Context, w io.Writer, held func() []Object) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := ""
	for {
		if line := Line(held()); line != last {
			last = line
			if _, err := fmt.Fprintln(w, line); err != nil {
				return fmt.Errorf("print a digest: %w", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
