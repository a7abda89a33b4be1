package reflector

import (
	"errors"
	"time"
)

// sync asks for the whole state, in the way that the options say.
func (s state) sync(now time.Time, effects []effect) (state, []effect) {
	wanted := s.initial == Watch || now.Before(s.streamUntil)
	if wanted && !now.Before(s.listUntil) {
		return s.stream(now, effects)
	}
	return s.list(now, effects)
}

// list asks for a list at the version that was last applied, so that the answer
// can come from the server's watch cache and cannot be older than what the sink
// holds. A first list takes any version the server has at hand.
//
// resourceVersionMatch is left out: a resourceVersion alone means "not older
// than". With a limit it means exactly this version, for as long as the server
// keeps it, so that such a list may bring nothing new: see [state.relist].
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (s state) list(now time.Time, effects []effect) (state, []effect) {
	version := s.floor()
	if version == "" && s.initial == ListAny {
		version = "0"
	}
	if s.refused {
		version = ""
	}
	s.phase = listing{version: version, asked: now, heard: now}
	return s, append(effects, list{version: version, limit: s.limit(version)})
}

// floor is the version of which no whole state may be older: the sink has had
// something of it.
func (s state) floor() string {
	if older(s.resume, s.ahead) {
		return s.ahead
	}
	return s.resume
}

// limit is the page size of a list at version.
//
// A list at a given version is not paged unless that is asked for, because a
// limit used to send it past the watch cache to etcd. One at "0" carries a limit
// for servers without a watch cache, and "" goes to etcd in any case.
func (s state) limit(version string) int64 {
	switch {
	case s.pageSize != 0:
		return max(s.pageSize, 0)
	case s.paged, version == "", version == "0":
		return defaultPageSize
	}
	return 0
}

const defaultPageSize = 500

// impatient returns when an answer that has been silent is given up; zero for never.
func (s state) impatient(heard time.Time) time.Time {
	if s.patience == 0 {
		return time.Time{}
	}
	return heard.Add(s.patience)
}

// listed gives the list to the sink and watches from it on.
func (s state) listed(now time.Time, p listing, in listed) (state, []effect) {
	if in.vain != nil {
		return s.wentBack(now, in.vain)
	}
	var effects []effect
	if unanchored(in.version) {
		in.version = ""
	}
	floor := s.floor()
	if _, err := advance(floor, in.version); err != nil && floor != "" || in.version == "" {
		if p.version != "" && errors.Is(err, errOlder) {
			return s.wentBack(now, err)
		}
		effects = append(effects, problem{class: VersionProblem, err: err})
	}
	effects = append(effects, replace{version: in.version})
	s = s.synced(now, in.version)
	s.unmoved = ""
	switch in.version {
	case "":
		// How recent it was nobody knows, so what follows must not be any state.
		s.refused = true
	case p.version:
		s.unmoved = in.version
	}
	s.paged = s.paged || p.version == "0" && in.pages > 1
	if p.again {
		s.refused = true
		return s.list(now, effects)
	}
	s, effects = s.watch(now, effects)
	first := s.phase.(watching)
	first.slow = now.Sub(p.asked) >= short
	s.phase = first
	return s, effects
}

// synced takes note that the sink has the whole state at a version.
func (s state) synced(now time.Time, version string) state {
	s.resume, s.ahead = version, ""
	s.refused = false
	s.pace.failures = 0
	if s.resyncAt.IsZero() && s.resync > 0 {
		s.resyncAt = now.Add(s.resync)
	}
	return s
}

// wentBack does not take a list that is older than it was asked to be, or of which a part
// was taken from the sink and may be of another history. Only the most recent state can
// say that the server's storage went back, as after the restoration of a backup: then
// that is what there is, and the sink is told all that it changes.
func (s state) wentBack(now time.Time, err error) (state, []effect) {
	s.refused = true
	return s.list(now, []effect{
		refuse{err: err},
		problem{class: VersionProblem, err: err},
		relist{reason: WentBack, err: err},
	})
}

// listWanted lists the most recent state: whoever asks may know of a change that the
// server's watch cache has not seen. A list in progress is followed by another, for
// it may have begun before that change.
func (s state) listWanted(now time.Time) (state, []effect) {
	switch p := s.phase.(type) {
	case listing:
		p.again = true
		s.phase = p
		return s, nil
	case streaming:
		p.again = true
		s.phase = p
		return s, nil
	}
	s.refused = true
	return s.sync(now, []effect{hangUp{err: errAsked}, relist{reason: Asked, err: errAsked}})
}

// listFailed asks at once for the most recent state when the version asked for
// is gone or has not arrived, and tries again after a pause otherwise. A version
// that was refused is not asked for again.
func (s state) listFailed(now time.Time, p listing, err error) (state, []effect) {
	reason := requestReason(err)
	s.refused = s.refused || p.again
	switch reason {
	case Expired, TooLarge:
		s.refused = true
		if p.version != "" {
			return s.list(now, []effect{relist{reason: reason, err: err}})
		}
	case Failed:
		// The version may be what the server finds fault with.
		if findsFault(err) {
			s.pace.failures++
		}
		s.refused = s.refused || s.pace.failures >= maxFailures
	default:
	}
	return s.wait(now, toList, reason, err, []effect{problem{class: ListProblem, err: err}})
}
