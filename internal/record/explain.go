package record

import (
	"sync"

	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/trace"
)

// explanations collects what the client of the replay says of its problems, for comments of the
// trace. The errors are of the replay, which had only what is in the trace, so a comment tells
// nothing else.
type explanations struct {
	mu    sync.Mutex
	lines []string          // that take has not returned yet
	last  map[string]string // by problem, the text of its last comment
}

// of returns a program whose problems are collected.
func (r *explanations) of(program trace.Program) trace.Program {
	return func(env trace.Env) (trace.Client, error) {
		tell := env.Problem
		env.Problem = func(class, key string, err error) {
			tell(class, key, err)
			r.add(problemLine(class, key), visible.OneLine(err.Error()))
		}
		return program(env)
	}
}

// add takes the reason of a problem. If the last one was the same, it has a comment already.
func (r *explanations) add(problem, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[problem] == text {
		return
	}
	r.last[problem] = text
	r.lines = append(r.lines, "# "+text)
}

// take returns the comments since the last call.
func (r *explanations) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}
