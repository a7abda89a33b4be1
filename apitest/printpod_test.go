package apitest

import "testing"

// The words for a Pod's states are compared with kube-apiserver's by the conformance suite; these are the rules behind them.
func TestPrintPod(t *testing.T) {
	const (
		spec     = `"spec":{"containers":[{"name":"a"},{"name":"b"}],"initContainers":[{"name":"side","restartPolicy":"Always"},{"name":"init"}]}`
		running  = `"state":{"running":{}}`
		sideUp   = `{"name":"side","started":true,"ready":true,"restartCount":1,` + running + `}`
		ready    = `{"ready":true,` + running + `}`
		ago      = `"lastState":{"terminated":{"finishedAt":"2025-12-31T23:00:00Z"}}`
		unplaced = " <none> <none> <none> <none>"
	)
	for _, tt := range []struct{ name, status, want string }{
		{"new", `{}`, "0/3 Pending 0"},
		{"gated", `{"phase":"Pending","conditions":[{"type":"PodScheduled","reason":"SchedulingGated"}]}`, "0/3 SchedulingGated 0"},
		{"the sidecar starts", `{"initContainerStatuses":[{"name":"side","state":{"waiting":{"reason":"PodInitializing"}}}]}`, "0/3 Init:0/2 0"},
		{
			"an init container fails",
			`{"initContainerStatuses":[` + sideUp + `,{"name":"init","restartCount":2,` + ago + `,"state":{"terminated":{"exitCode":1}}}]}`,
			"1/3 Init:ExitCode:1 3 (60m ago)",
		},
		{
			"init containers' restarts do not count later",
			`{"phase":"Running","initContainerStatuses":[` + sideUp + `,{"name":"init","restartCount":2,"state":{"terminated":{}}}],"containerStatuses":[` + ready + `]}`,
			"2/3 Running 1",
		},
		{"the first container has the last word", `{"containerStatuses":[{"state":{"waiting":{"reason":"A"}}},{"state":{"waiting":{"reason":"B"}}}]}`, "0/3 A 0"},
		{
			"completed beside one that is ready",
			`{"conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}},` + ready + `]}`,
			"1/3 Running 0",
		},
		{
			"completed beside one that is not",
			`{"containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}},` + ready + `]}`,
			"1/3 NotReady 0",
		},
		{
			"completed beside one that failed",
			`{"containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}},{"state":{"terminated":{"exitCode":9,"signal":9}}}]}`,
			"0/3 Signal:9 0",
		},
		{"evicted", `{"phase":"Failed","reason":"Evicted"}`, "0/3 Evicted 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cells(t, "pods", `{`+spec+`,"status":`+tt.status+`}`); got != tt.want+unplaced {
				t.Errorf("%q, want %q", got, tt.want+unplaced)
			}
		})
	}
}

func TestPrintPodThatEnds(t *testing.T) {
	for _, tt := range []struct{ status, want string }{
		{`{"phase":"Running"}`, "Terminating"},
		{`{"phase":"Succeeded"}`, "Succeeded"},
		{`{"phase":"Running","reason":"NodeLost"}`, "Unknown"},
	} {
		got := cells(t, "pods", `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":`+tt.status+`}`)
		if want := "0/0 " + tt.want + " 0 <none> <none> <none> <none>"; got != want {
			t.Errorf("%s: %q, want %q", tt.status, got, want)
		}
	}
}
