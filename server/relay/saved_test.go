package relay

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSavedWindows plays random lives of relays that have a folder: changes, bookmarks, readers
// that ask for the most recent state, an API server that is away, the end of a process, a kill.
// Each next process begins without a list, serves watches from the first version on, and knows how
// old its state is.
func TestSavedWindows(t *testing.T) {
	t.Parallel()
	seeds := uint64(15)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		s := &savedLife{r: rand.New(rand.NewPCG(seed, 3)), opts: Options{Dir: t.TempDir(), SaveEvery: 20 * time.Second, MaxStaleness: 5 * time.Minute}}
		play(t, s.opts, func(r *rig) {
			s.rig = r
			defer func() {
				if r.Failed() {
					r.Fatalf("seed %d: %s", seed, strings.Join(s.done, ", "))
				}
			}()
			s.first = r.create("first", "n")
			later(s.opts.SaveEvery + time.Second)
			for range 25 {
				s.step()
			}
			s.restart(s.r.IntN(2) == 0)
		})
	}
}

type savedLife struct {
	*rig
	r      *rand.Rand
	opts   Options
	first  string   // the version at which the watches begin
	writes []string // since then
	away   bool
	done   []string // for the report of a failure
}

func (s *savedLife) step() {
	step := []string{"change", "change", "other", "recent", "recent", "second", "minute", "minutes", "away", "end", "kill"}[s.r.IntN(11)]
	s.done = append(s.done, step)
	switch step {
	case "change":
		name := fmt.Sprint("p", len(s.writes))
		s.writes = append(s.writes, "ADDED "+name+"@"+s.create(name, "n"))
	case "other":
		s.other()
	case "recent":
		s.get("/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
	case "second":
		later(time.Second)
	case "minute":
		s.pass(time.Minute)
	case "minutes":
		s.pass(time.Duration(s.r.IntN(600)) * time.Second)
	case "away":
		var err error
		if s.away = !s.away; s.away {
			err = s.server.Refuse(0)
		} else {
			err = s.server.Resume()
			s.pass(2 * time.Minute) // until it is noticed, and saved
		}
		if err != nil {
			s.Fatal(err)
		}
	default:
		s.restart(step == "kill")
	}
}

// pass lets time pass in a cluster in which other types change, because a bookmark tells of a newer
// version.
func (s *savedLife) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.other()
		later(min(time.Until(end), 10*time.Second))
	}
}

// restart starts the next process. If the one before was killed, it could not save its window at
// the end.
func (s *savedLife) restart(kill bool) {
	age, _ := s.age()
	files := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(s.opts.Dir, "*"))
	for _, name := range names {
		files[name], _ = os.ReadFile(name)
	}
	s.stop()
	var unsaved time.Duration
	if kill {
		unsaved = s.opts.SaveEvery + 2*time.Minute // since the save, a bookmark may have come, or another watch
		for name, data := range files {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				s.Fatal(err)
			}
		}
	}
	down := time.Duration(s.r.IntN(200)) * time.Second
	later(down)
	age += down
	s.forget()
	wasAway := s.away
	if !wasAway && s.r.IntN(2) == 0 {
		s.away = true
		if err := s.server.Refuse(0); err != nil {
			s.Fatal(err)
		}
	}
	s.start(s.opts)
	if s.away {
		if now, header := s.age(); now < age-time.Second || now > age+unsaved+2*time.Second || header != int(now.Seconds()) {
			s.Errorf("the next process says that its state is %v old, and Age: %d; want %v, or %v more", now, header, age, unsaved)
		}
		s.away = false
		if err := s.server.Resume(); err != nil {
			s.Fatal(err)
		}
		s.pass(2 * time.Minute)
	} else {
		s.pass(s.opts.SaveEvery + 5*time.Second)
	}
	if now, header := s.age(); now > 2*time.Minute || header >= 0 {
		s.Errorf("the state is %v old, with Age: %d, behind a server that is there", now, header)
	}
	if got, want := s.watch("resourceVersion="+s.first).next(len(s.writes)), strings.Join(s.writes, ", "); got != want {
		s.Errorf("a watch of the next process: %s, want %s", got, want)
	}
	if lists := s.count("/api/v1/pods?limit=500"); lists > 0 {
		s.Errorf("the next process listed: %q", s.requests)
	}
}

var oldness = regexp.MustCompile(`pods (?:ok|too old), (.*) old`)

// age returns what /readyz and the header Age say, and checks that answers agree with both. header
// is -1 if the answer has no Age.
func (s *savedLife) age() (ready time.Duration, header int) {
	synctest.Wait() // for what comes now
	text := s.get("/readyz")
	now := s.get("/api/v1/pods?resourceVersion=0")
	old := oldness.FindStringSubmatch(text.body)
	if old == nil {
		s.Fatalf("/readyz: %s", text.body)
	}
	ready, err := time.ParseDuration(old[1])
	header, noHeader := strconv.Atoi(now.header.Get("Age"))
	if noHeader != nil {
		header = -1
	}
	want := http.StatusOK
	if ready > s.opts.MaxStaleness {
		want = http.StatusServiceUnavailable
	}
	if err != nil || text.code != want || now.code != want {
		s.Errorf("/readyz: %d %s; a list: %d %.60q", text.code, text.body, now.code, now.body)
	}
	return ready, header
}
