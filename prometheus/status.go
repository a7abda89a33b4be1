package relistprom

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/relay"
)

// moment is a status, and when it was taken.
type moment struct {
	reflector.Status
	now time.Time
}

var statusGauges = []gauge[moment]{
	asked(prometheus.GaugeValue, "relist_synced", "1 if the whole state has come once, and 0 before.",
		func(s moment) float64 { return flag(s.Synced) }),
	asked(prometheus.GaugeValue, "relist_staleness_seconds", "How long ago the copy was last known to be up to date.",
		func(s moment) float64 { return s.Staleness(s.now).Seconds() }),
	asked(prometheus.GaugeValue, "relist_failing_seconds", "For how long requests have failed, and no watch has been open; 0 if that is not so.",
		func(s moment) float64 { return since(s.FailingSince, s.now) }),
	asked(prometheus.GaugeValue, "relist_last_event_age_seconds", "How long ago the last event or bookmark came; since the start, if none has come.",
		func(s moment) float64 { return since(latest(s.LastEvent, s.LastBookmark, s.Started), s.now) }),
	asked(prometheus.GaugeValue, "relist_quarantined_objects", "Objects whose latest version the copy may lack.",
		func(s moment) float64 { return float64(len(s.Quarantined) + s.MoreQuarantined) }),
}

var cacheGauges = []gauge[informer.Stats]{
	asked(prometheus.GaugeValue, "relist_objects", "Objects in the store.",
		func(s informer.Stats) float64 { return float64(s.Objects) }),
	asked(prometheus.GaugeValue, "relist_queue_depth", "Objects with changes that have come and are not in the store yet.",
		func(s informer.Stats) float64 { return float64(s.Queued) }),
}

var relayGauges = []gauge[relay.ResourceStatus]{
	asked(prometheus.GaugeValue, "relist_relay_watches", "Watches of readers that are open at a relay.",
		func(s relay.ResourceStatus) float64 { return float64(s.Watches) }),
	asked(prometheus.GaugeValue, "relist_relay_objects", "Objects that a relay has.",
		func(s relay.ResourceStatus) float64 { return float64(s.Objects) }),
	asked(prometheus.GaugeValue, "relist_relay_window_changes", "Changes from which a relay's readers can go on.",
		func(s relay.ResourceStatus) float64 { return float64(s.Changes) }),
}

var (
	stateDesc = describe("relist_state", "1 for the state that the reflector is in, and 0 for the others: stopped, listing, opening, watching or waiting.", "state")

	handlerDesc = describe("relist_handler_pending_objects", "Objects with a change that a handler has not got yet. Handlers with the same name count together.", "handler")
)

// collect asks an informer or a reflector.
func (s observed) collect(ch chan<- prometheus.Metric, name string, now time.Time) {
	status := s.status()
	for _, g := range statusGauges {
		g.collect(ch, moment{status, now}, name)
	}
	for state := reflector.Stopped; state <= reflector.Waiting; state++ {
		send(ch, stateDesc, prometheus.GaugeValue, flag(state == status.State), name, state.String())
	}
	if s.relay != nil {
		of := s.relay()
		for _, g := range relayGauges {
			g.collect(ch, of, name)
		}
	}
	if s.stats == nil {
		return
	}
	stats := s.stats()
	for _, g := range cacheGauges {
		g.collect(ch, stats, name)
	}
	pending := map[string]int{}
	for _, h := range stats.Handlers {
		pending[valid(h.Name)] += h.Pending
	}
	for handler, n := range pending {
		send(ch, handlerDesc, prometheus.GaugeValue, float64(n), name, handler)
	}
}

// since returns the seconds since a time, and 0 if that time is zero.
func since(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return now.Sub(at).Seconds()
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
