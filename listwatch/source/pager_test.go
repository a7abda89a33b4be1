package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
)

// script answers list requests in order and writes them down.
type script struct {
	answers []answer
	asked   []string
}

type answer struct {
	page Page[string]
	err  error
}

func (s *script) List(_ context.Context, opts metav1.ListOptions) (*Page[string], error) {
	s.asked = append(s.asked, fmt.Sprintf("rv=%s match=%s limit=%d continue=%s", opts.ResourceVersion, opts.ResourceVersionMatch, opts.Limit, opts.Continue))
	if len(s.answers) == 0 {
		return nil, errors.New("the script has ended")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return &a.page, a.err
}

func (s *script) Watch(context.Context, metav1.ListOptions) (Watch[string], error) {
	return nil, errors.New("the script has no watch")
}

func page(version, token string, items ...string) answer {
	return answer{page: Page[string]{Items: items, ResourceVersion: version, Continue: token}}
}

func expired() answer {
	return answer{err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}}
}

func TestAll(t *testing.T) {
	const first = "rv=0 match=NotOlderThan limit=2 continue="
	for name, test := range map[string]struct {
		answers []answer
		asked   []string
		items   string
		version string
		pages   int
		err     string
	}{
		"one page":   {[]answer{page("7", "", "a", "b")}, []string{first}, "a b", "7", 1, ""},
		"no objects": {[]answer{page("7", "")}, []string{first}, "", "7", 1, ""},
		"three pages; the version is asked for once": {
			[]answer{page("7", "p2", "a", "b"), page("7", "p3", "c", "d"), page("7", "", "e")},
			[]string{first, "rv= match= limit=2 continue=p2", "rv= match= limit=2 continue=p3"},
			"a b c d e", "7", 3, "",
		},
		"empty pages": {
			[]answer{page("7", "p2"), page("7", "p3", "a"), page("7", "")},
			[]string{first, "rv= match= limit=2 continue=p2", "rv= match= limit=2 continue=p3"},
			"a", "7", 3, "",
		},
		"limit ignored": {[]answer{page("7", "", "a", "b", "c", "d")}, []string{first}, "a b c d", "7", 1, ""},
		"pages at several versions": {
			[]answer{page("7", "p2", "a"), page("9", "", "b")},
			[]string{first, "rv= match= limit=2 continue=p2"},
			"a b", "7", 2, "",
		},
		"token expired: all at once": {
			[]answer{page("7", "p2", "a", "b"), expired(), page("9", "", "a", "c")},
			[]string{first, "rv= match= limit=2 continue=p2", "rv=0 match=NotOlderThan limit=0 continue="},
			"a c", "9", 2, "",
		},
		"token expired twice": {
			[]answer{page("7", "p2", "a"), expired(), page("9", "p2", "a"), expired()},
			[]string{first, "rv= match= limit=2 continue=p2", "rv=0 match=NotOlderThan limit=0 continue=", "rv= match= limit=0 continue=p2"},
			"", "", 0, "410",
		},
		"first page expired": {[]answer{expired()}, []string{first}, "", "", 0, "410"},
		"other error": {
			[]answer{page("7", "p2", "a"), {err: errors.New("no route")}},
			[]string{first, "rv= match= limit=2 continue=p2"},
			"", "", 0, "no route",
		},
		"token that comes back": {
			[]answer{page("7", "p2", "a"), page("7", "p2", "a")},
			[]string{first, "rv= match= limit=2 continue=p2"},
			"", "", 0, "continue token",
		},
		"a token that comes back after the restart": {
			[]answer{page("7", "p2", "a"), expired(), page("9", "p2", "a"), page("9", "", "b")},
			[]string{first, "rv= match= limit=2 continue=p2", "rv=0 match=NotOlderThan limit=0 continue=", "rv= match= limit=0 continue=p2"},
			"a b", "9", 3, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: test.answers}
			list, err := All(t.Context(), s, metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 2})
			if diff := cmp.Diff(test.asked, s.asked); diff != "" {
				t.Errorf("requests differ (-want +got):\n%s", diff)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(fmt.Sprintf("%v %d", err, codeOf(err)), test.err) {
					t.Errorf("error is %v, want %s", err, test.err)
				}
				return
			}
			must.OK(t, err)
			if got := strings.Join(list.Items, " "); got != test.items || list.ResourceVersion != test.version || list.Pages != test.pages {
				t.Errorf("list is %q at %s in %d pages, want %q at %s in %d", got, list.ResourceVersion, list.Pages, test.items, test.version, test.pages)
			}
		})
	}
}

// endless answers every list request with a page that has a new token, and no object or one without
// a name.
type endless struct {
	script
	asked    int
	nameless bool
}

func (e *endless) List(context.Context, metav1.ListOptions) (*Page[string], error) {
	e.asked++
	page := &Page[string]{ResourceVersion: "7", Continue: fmt.Sprint(e.asked)}
	switch {
	case e.nameless && e.asked%2 == 0:
		page.Items, page.Metas = []string{""}, []object.Meta{{}}
	case e.nameless:
		page.Errors = []*ObjectError{{Err: errors.New("it has no name")}}
	}
	return page, nil
}

func TestAllEndsWherePagesDoNot(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		server := &endless{nameless: nameless}
		if _, err := All(t.Context(), server, metav1.ListOptions{Limit: 2}); !errors.Is(err, errContinueLoop) {
			t.Errorf("nameless %v: error is %v, want errContinueLoop", nameless, err)
		}
		if server.asked != maxStalePages {
			t.Errorf("nameless %v: asked %d times, want %d", nameless, server.asked, maxStalePages)
		}
	}
}

// deaf ignores the continue token: it always sends the first page, with a new
// token.
type deaf struct {
	script
	asked, grows int // until so many requests were made, each page has an object that is new
}

func (d *deaf) List(context.Context, metav1.ListOptions) (*Page[string], error) {
	d.asked++
	newest := fmt.Sprint("n", min(d.asked, d.grows))
	return &Page[string]{
		Items: []string{"a", newest}, Metas: []object.Meta{{Key: "a"}, {Key: newest}},
		ResourceVersion: "7", Continue: fmt.Sprint(d.asked),
	}, nil
}

// A page with only known keys is no progress, even if its token is new.
func TestAllEndsWhereAServerIgnoresContinue(t *testing.T) {
	for grows, want := range map[int]int{
		1:  1 + 1 + maxStalePages, // keys are remembered from their second time on, if the server sends them in order
		50: 50 + maxStalePages,    // n10 comes after n9, so the list has an order of its own
	} {
		server := &deaf{grows: grows}
		if _, err := All(t.Context(), server, metav1.ListOptions{Limit: 2}); !errors.Is(err, errContinueLoop) {
			t.Errorf("error is %v, want errContinueLoop", err)
		}
		if server.asked != want {
			t.Errorf("asked %d times, want %d", server.asked, want)
		}
	}
}

func codeOf(err error) int32 {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Code
	}
	return 0
}
