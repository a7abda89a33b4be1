package apitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// A podView is what the columns of a Pod are made from.
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

// progress sums up the containers: how many are ready, why the first of those that are not is not, and the restarts.
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

// gated is true for a Pod that the scheduler is to leave alone for now.
func (p *podView) gated() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c podCondition) bool {
		return c.Type == "PodScheduled" && c.Reason == "SchedulingGated"
	})
}

// initProgress goes through the init containers up to the first that the others wait for; waits says why, or is "".
// Sidecars are among them. Their restarts are counted for themselves too, because only those count later.
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

// mainProgress goes through the other containers. Of those that do not run, the first one has the last word.
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
	case status != "Completed": // else one of them is: what about the others?
	case ready > 0 && p.is("Ready"):
		status = "Running"
	case failure != "":
		status = failure
	case ready > 0:
		status = "NotReady"
	}
	return ready, status, counted
}

// sidecar is true for an init container that goes on beside the others.
func (p *podView) sidecar(name string) bool {
	for _, c := range p.Spec.InitContainers {
		if c.Name == name {
			return c.RestartPolicy == "Always"
		}
	}
	return false
}

// ending replaces the status of a Pod that is being deleted and has not ended by itself.
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

// describe says why a container does not run, or "".
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

// restarts of several containers, with the end of the last run that was followed by one.
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
