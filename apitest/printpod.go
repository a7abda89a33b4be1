package apitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// A podView has the fields of a Pod that its columns need.
type podView struct {
	Metadata struct{ DeletionTimestamp string }
	Spec     struct {
		NodeName                   string
		InitContainers, Containers []struct{ Name, RestartPolicy string }
		ReadinessGates             []struct{ ConditionType string }
	}
	Status struct {
		Phase, Reason, PodIP, NominatedNodeName  string
		Conditions                               []podCondition
		InitContainerStatuses, ContainerStatuses []containerStatus
	}
}

type podCondition struct{ Type, Status, Reason string }

type containerStatus struct {
	Name             string
	Ready, Started   bool
	RestartCount     int
	State, LastState containerState
}

type containerState struct {
	Waiting    *struct{ Reason string }
	Running    *struct{}
	Terminated *struct {
		Reason           string
		Signal, ExitCode int
		FinishedAt       string
	}
}

func podCells(object []byte, now time.Time) ([]any, error) {
	p, err := view[podView](object)
	if err != nil {
		return nil, err
	}
	ready, status, restarts := p.progress()
	total := len(p.Spec.Containers)
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy == "Always" {
			total++
		}
	}
	gates := "<none>"
	if n := len(p.Spec.ReadinessGates); n > 0 {
		open := 0
		for _, g := range p.Spec.ReadinessGates {
			if p.is(g.ConditionType) {
				open++
			}
		}
		gates = fmt.Sprintf("%d/%d", open, n)
	}
	return []any{
		fmt.Sprintf("%d/%d", ready, total), p.ending(status), restarts.format(now),
		cmp.Or(p.Status.PodIP, "<none>"), cmp.Or(p.Spec.NodeName, "<none>"), cmp.Or(p.Status.NominatedNodeName, "<none>"), gates,
	}, nil
}

// is reports whether a condition is true.
func (p *podView) is(condition string) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

// progress returns how many containers are ready, the text of the column Status, and the restarts.
func (p *podView) progress() (ready int, status string, counted restarts) {
	ready, waits, initial, sidecars := p.initProgress()
	if waits != "" && !p.is("Initialized") {
		return ready, waits, initial
	}
	status = cmp.Or(waits, p.Status.Reason, p.Status.Phase, "Pending")
	if waits == "" && p.gated() {
		status = "SchedulingGated"
	}
	more, status, counted := p.mainProgress(status)
	counted.merge(sidecars)
	return ready + more, status, counted
}

// gated reports whether a scheduling gate holds the Pod back from the scheduler.
func (p *podView) gated() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c podCondition) bool {
		return c.Type == "PodScheduled" && c.Reason == "SchedulingGated"
	})
}

// initProgress looks at the init containers, sidecars included, up to the first one for which the others wait. waits
// is the text for that container, or "" if no container is waited for. all counts the restarts of all these containers. sidecars
// counts only the restarts of the sidecars, because only these count when the other containers run.
func (p *podView) initProgress() (ready int, waits string, all, sidecars restarts) {
	for i, c := range p.Status.InitContainerStatuses {
		sidecar := p.sidecar(c.Name)
		all.add(c)
		if sidecar {
			sidecars.add(c)
		}
		switch t := c.State.Terminated; {
		case t != nil && t.ExitCode == 0: // done
		case sidecar && c.Started:
			if c.Ready {
				ready++
			}
		default:
			what := c.State.describe()
			if what == "" || what == "PodInitializing" {
				what = fmt.Sprintf("%d/%d", i, len(p.Spec.InitContainers))
			}
			return ready, "Init:" + what, all, sidecars
		}
	}
	return ready, "", all, sidecars
}

// mainProgress looks at the other containers. If some of them do not run, the first of these decides the text.
func (p *podView) mainProgress(status string) (ready int, word string, counted restarts) {
	failure := ""
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		counted.add(c)
		what := c.State.describe()
		if what == "" {
			if c.Ready && c.State.Running != nil {
				ready++
			}
			continue
		}
		status = what
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			failure = what
		}
	}
	switch {
	case status != "Completed": // below, one container has completed, so the others decide
	case ready > 0 && p.is("Ready"):
		status = "Running"
	case failure != "":
		status = failure
	case ready > 0:
		status = "NotReady"
	}
	return ready, status, counted
}

// sidecar reports whether name is an init container that keeps running beside the others.
func (p *podView) sidecar(name string) bool {
	for _, c := range p.Spec.InitContainers {
		if c.Name == name {
			return c.RestartPolicy == "Always"
		}
	}
	return false
}

// ending returns the text for a Pod that is being deleted. For every other Pod, and for a Pod that has ended by
// itself, it returns status.
func (p *podView) ending(status string) string {
	switch {
	case p.Metadata.DeletionTimestamp == "":
		return status
	case p.Status.Reason == "NodeLost":
		return "Unknown"
	case p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed":
		return status
	}
	return "Terminating"
}

// describe returns why a container does not run, or "".
func (s containerState) describe() string {
	switch t := s.Terminated; {
	case s.Waiting != nil && s.Waiting.Reason != "":
		return s.Waiting.Reason
	case t == nil:
		return ""
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

// restarts counts the restarts of several containers. last is when the latest run that was followed by a restart
// ended.
type restarts struct {
	count int
	last  time.Time
}

func (r *restarts) add(c containerStatus) {
	r.count += c.RestartCount
	if t := c.LastState.Terminated; t != nil {
		if at, err := time.Parse(time.RFC3339, t.FinishedAt); err == nil && at.After(r.last) {
			r.last = at
		}
	}
}

func (r *restarts) merge(o restarts) {
	r.count += o.count
	if o.last.After(r.last) {
		r.last = o.last
	}
}

func (r *restarts) format(now time.Time) string {
	if r.count == 0 || r.last.IsZero() {
		return strconv.Itoa(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, duration.HumanDuration(now.Sub(r.last)))
}
