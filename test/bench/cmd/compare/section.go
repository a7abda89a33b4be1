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
	run         func(ctx context.Context, r *runner) (report, error)
}

// report is what a section has measured: all of it in Markdown, and for the row of a page each
// figure by its name, if the section compares the programs.
type report struct {
	text string
	cell func(figure string) string
}

// sections returns all sections, in the order of the report.
func sections() []section {
	var all []section
	for _, c := range cases.All() {
		if c.Alone {
			continue
		}
		all = append(all, section{c.Name, c.Title, func(ctx context.Context, r *runner) (report, error) {
			results, err := r.compare(ctx, c)
			return report{table(results), func(figure string) string {
				if name, next := strings.CutSuffix(figure, " (0.38)"); next {
					return ratio(values(results[0], name), values(results[2], name))
				}
				return comparison(values(results[0], figure), values(results[1], figure))
			}}, err
		}})
	}
	return append(all,
		section{"limits", "The same bytes, and less done with them", limits},
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
