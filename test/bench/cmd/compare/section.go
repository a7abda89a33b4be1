package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/relist-go/relist/test/bench/cases"
)

// A section is a part of the report. Most sections have the table of one case.
type section struct {
	name, title string
	run         func(ctx context.Context, r *runner) (markdown string, err error)
}

// sections returns all sections, in the order of the report.
func sections() []section {
	var all []section
	for _, c := range cases.All() {
		if c.Alone || c.APIServer {
			continue
		}
		all = append(all, section{c.Name, c.Title, func(ctx context.Context, r *runner) (string, error) {
			results, err := r.compare(ctx, c)
			return table(results), err
		}})
	}
	return append(all,
		section{"growth", "First list, JSON, from 2,000 to 100,000 Pods", growth},
		section{"copy-apiserver", "First copy from a real API server", copyAPIServer},
		section{"copy-growth", "First copy in SQLite, JSON, from 2,000 to 100,000 Pods", copyGrowth},
		section{"sharing", "The same 20,000 Pods with and without ShareParts, relist alone", sharing},
		section{"transports", "The same 20,000 Pods by each transport and encoding, relist alone", transports},
		section{"size", "The program, not stripped", binarySize},
	)
}

func choose(all []section, names string) ([]section, error) {
	if names == "" {
		return all, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s section) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no case %s; -list prints what there is", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// growth shows how CPU and memory grow with the number of objects.
func growth(ctx context.Context, r *runner) (string, error) {
	return growing(ctx, r, "list-json", perObject)
}

// copyGrowth shows it for a copy in a database.
func copyGrowth(ctx context.Context, r *runner) (string, error) {
	return growing(ctx, r, "copy-first", perCopy)
}

func growing(ctx context.Context, r *runner, name string, rows func(results, int) string) (string, error) {
	all := cases.All()
	c := all[slices.IndexFunc(all, func(c cases.Case) bool { return c.Name == name })]
	var text strings.Builder
	for i, n := range []int{2_000, 20_000, 100_000} {
		c.Objects = n
		if r.smoke {
			n /= 1000
			c.SmokeObjects = n
		}
		results, err := r.compare(ctx, c)
		if err != nil {
			return "", err
		}
		if i == 0 {
			text.WriteString("| Pods | | relist | client-go | ratio |\n| ---: | --- | ---: | ---: | --- |\n")
		}
		text.WriteString(rows(results, n))
	}
	return text.String(), nil
}
