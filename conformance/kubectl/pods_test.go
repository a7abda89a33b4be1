package kubectl

import (
	"fmt"
	"testing"
)

// podStatuses are set one after the other on a Pod of two containers, one sidecar and one other init container.
var podStatuses = []string{
	`{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}`,
	`{"phase":"Pending","initContainerStatuses":[` + status("side", `"restartCount":0`, `"waiting":{"reason":"PodInitializing"}`) + `]}`,
	`{"phase":"Pending","initContainerStatuses":[` + status("side", `"started":true,"ready":true`, running) + `,` +
		status("init", `"restartCount":3,`+lastState, `"waiting":{"reason":"CrashLoopBackOff"}`) + `]}`,
	`{"phase":"Pending","initContainerStatuses":[` + status("side", `"started":true,"restartCount":1`, running) + `,` +
		status("init", `"restartCount":3`, `"terminated":{"exitCode":2}`) + `]}`,
	`{"phase":"Pending","initContainerStatuses":[` + status("side", `"started":true`, running) + `,` + status("init", `"ready":false`, running) + `]}`,
	running2(`"ready":true`, running, `"ready":true`, running),
	running2(`"ready":true`, running, `"ready":false,"restartCount":2,`+lastState, running),
	running2(`"ready":false,"restartCount":7`, `"waiting":{"reason":"CrashLoopBackOff"}`, `"ready":true`, running),
	running2(`"ready":false`, `"terminated":{"exitCode":0,"reason":"Completed"}`, `"ready":true`, running),
	running2(`"ready":false`, `"terminated":{"exitCode":0,"reason":"Completed"}`, `"ready":false`, `"terminated":{"exitCode":137,"reason":"OOMKilled"}`),
	running2(`"ready":false`, `"terminated":{"exitCode":1}`, `"ready":false`, `"terminated":{"exitCode":0,"signal":9}`),
	`{"phase":"Failed","reason":"Evicted","nominatedNodeName":"n1","podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"}]}`,
	`{"phase":"Running","conditions":[{"type":"gate.example.com/a","status":"True"}]}`,
}

const (
	running   = `"running":{"startedAt":"2020-01-01T00:00:00Z"}`
	lastState = `"lastState":{"terminated":{"exitCode":1,"finishedAt":"2020-01-01T00:00:00Z"}}`
)

func status(name, members, state string) string {
	return fmt.Sprintf(`{"name":%q,"image":"i","imageID":"",%s,"state":{%s}}`, name, members, state)
}

// running2 is a Pod that has been initialized, with its two containers.
func running2(members1, state1, members2, state2 string) string {
	return `{"phase":"Running","conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":"True"}],"initContainerStatuses":[` +
		status("side", `"started":true,"ready":true,"restartCount":1`, running) + `],"containerStatuses":[` +
		status("one", members1, state1) + "," + status("two", members2, state2) + `]}`
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {terminationGracePeriodSeconds: 0,
	readinessGates: [{conditionType: gate.example.com/a}, {conditionType: gate.example.com/b}],
	initContainers: [{name: side, image: i, restartPolicy: Always}, {name: init, image: i}],
	containers: [{name: one, image: i}, {name: two, image: i}]}}`

// testPods compares the columns of a Pod in every state that has a word of its own.
func testPods(t *testing.T, ours, theirs *shell) {
	compare(t, ours, theirs, step{args: "create -f -", stdin: pod})
	compare(t, ours, theirs, step{args: "get pods"})
	for _, s := range podStatuses {
		compare(t, ours, theirs, step{args: `patch pod p --subresource=status --type=json -p [{"op":"replace","path":"/status","value":` + s + `}]`})
		compare(t, ours, theirs, step{args: "get pods -o wide"})
	}
}
