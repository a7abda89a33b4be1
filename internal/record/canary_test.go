package record

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
)

// canaryObject has text of a user's wherever an object can have it.
const canaryObject = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"canary-%[1]s","namespace":"canary-space","uid":"canary-uid-%[1]s",
"resourceVersion":"%[2]s","generateName":"canary-","selfLink":"/canary","generation":4711,"creationTimestamp":"1980-04-07T11:28:31Z",
"labels":{"canary-label":"canary"},"annotations":{"canary.example.com/a":"canary"},"finalizers":["canary/f"],
"ownerReferences":[{"apiVersion":"canary/v1","kind":"Canary","name":"canary-owner","uid":"canary-owner-uid"}],
"managedFields":[{"manager":"canary","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:canary":{}}}}]},
"data":{"canary":"canary","data":"canary"},"binaryData":{"canaryKey":"Y2FuYXJ5"},"canaryField":{"canaryMap":[{"kind":"canary"}]}}`

// brokenObject cannot be decoded: its labels are a list.
const brokenObject = `{"kind":"CanaryKind","apiVersion":"canary/v1","metadata":{"name":"canary-broken","namespace":"canary-space","uid":"canary-broken-uid",
"resourceVersion":"12","labels":["canary"],"canary":{"canary":"canary"}},"data":{"canary":4711},"spec":{"kind":"canary","tenants":{"canary":{"seats":4711}}}}`

const canaryStatus = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"canary-one\" is forbidden: User \"canary@example.com\" cannot list, limit canary/x",
"reason":"%s","code":%d,"details":{"name":"canary-one","group":"canary.example.com","kind":"canaries","uid":"canary-uid-one","causes":[{"reason":"CanaryReason","message":"canary","field":"spec.canary"}]}}`

// canaries is a server whose every answer has them. It has one answer for each list and each watch,
// and then no more.
type canaries struct {
	lists   atomic.Int32
	watches atomic.Int32
}

func (c *canaries) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Canary", "canary")
	w.Header().Set("Warning", `299 - "canary"`)
	w.Header().Set("Audit-Id", "canary")
	switch {
	case req.URL.Query().Get("watch") == "true":
		c.watch(w, req, c.watches.Add(1))
	case req.URL.Query().Get("limit") == "2": // one object is asked for
		_, name, _ := strings.Cut(req.URL.Query().Get("fieldSelector"), "metadata.name=canary-")
		version := map[string]string{"one": "5", "two": "6", "three": "11", "broken": "12"}[name]
		at := "12"
		if c.lists.Load() > 4 {
			at, version = "30", "15"
		}
		c.answer(w, http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"`+at+`","selfLink":"/canary"},"items":[`+
			fmt.Sprintf(canaryObject, name, version)+`]}`)
	default:
		c.list(w, c.lists.Add(1))
	}
}

func (c *canaries) list(w http.ResponseWriter, nth int32) {
	page := func(version, token, name, itemVersion string) string {
		return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"` + version + `","continue":"` + token +
			`","canary":"canary","remainingItemCount":1},"items":[` + fmt.Sprintf(canaryObject, name, itemVersion) + `]}`
	}
	switch nth {
	case 1:
		c.answer(w, http.StatusForbidden, fmt.Sprintf(canaryStatus, "Canary", 403))
	case 2:
		w.Header().Set("Content-Type", "text/html; canary=canary")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = fmt.Fprint(w, "<p class=\"canary\">canary ☃ c4n4ry P@$$w0rd!</p>")
	case 3:
		c.answer(w, http.StatusOK, page("10", "canary-token", "one", "5"))
	case 4:
		c.answer(w, http.StatusOK, page("10", "", "two", "6"))
	default:
		c.answer(w, http.StatusOK, page("30", "", "one", "15"))
	}
}

func (c *canaries) answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

func (c *canaries) watch(w http.ResponseWriter, req *http.Request, nth int32) {
	w.Header().Set("Content-Type", "application/json")
	send := func(message []byte) {
		_, _ = w.Write(message)
		_ = http.NewResponseController(w).Flush()
	}
	if nth > 1 {
		<-time.After(20 * time.Second) // what the client asks for because the last watch ended is over
	}
	switch nth {
	case 1:
		send(watchEvent("ADDED", fmt.Sprintf(canaryObject, "three", "11")))
		<-time.After(time.Second)
		send(watchEvent("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"12","annotations":{"canary":"canary","k8s.io/initial-events-end":"canary"}}}`))
		<-time.After(time.Second)
		send(watchEvent("MODIFIED", brokenObject))
		<-time.After(12 * time.Second)
		send(watchEvent("MODIFIED", fmt.Sprintf(canaryObject, "cut", "14"))[:150])
		panic(http.ErrAbortHandler) // in the middle of an event
	case 2:
		send(watchEvent("CANARY", fmt.Sprintf(canaryObject, "four", "13")))
		<-time.After(12 * time.Second)
	case 3:
		send([]byte("canary {\"canary\" 4711\n"))
		<-time.After(12 * time.Second)
	case 4:
		send(watchEvent("ERROR", fmt.Sprintf(canaryStatus, "Expired", 410)))
		<-time.After(12 * time.Second)
	default:
		<-req.Context().Done()
	}
}

func watchEvent(typ, text string) []byte {
	return []byte(`{"type":"` + typ + `","object":` + strings.ReplaceAll(text, "\n", "") + "}\n")
}

var canary = regexp.MustCompile(`(?i)canar|c4n4ry|4711|1980-|P@|☃|` + regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte("canary"))))

// A server has text of a user's in every position of its answers: names, keys of maps, values,
// labels, annotations, owners, managed fields, errors, tokens, headers, strange versions and kinds;
// in good objects, in broken ones, in what is no object, and in what broke off. Nothing of it is
// left in what was scrubbed, and the trace still passes.
func TestNoCanarySurvives(t *testing.T) {
	opts := setup{handler: &canaries{}, Options: Options{
		Path: "/api/v1/namespaces/canary-space/configmaps", Kind: "ConfigMap", PageSize: 1,
		LabelSelector: "canary-label in (canary,x),!canaries", FieldSelector: "metadata.name!=canary",
	}}
	c := listenTo(t, apitest.Options{}, opts, func(*world) {}, func(*world) { after(3 * time.Minute) })
	if !canary.MatchString(string(c.raw())) {
		t.Fatalf("the recording had none:\n%s", c.raw())
	}
	passes(t, c)
	scrubbed := scrub(c)
	for _, text := range []string{string(scrubbed.raw()), passes(t, scrubbed)} {
		for line := range strings.Lines(text) {
			if canary.MatchString(line) {
				t.Errorf("left: %s", line)
			}
		}
	}
	contain(t, passes(t, scrubbed), "< 403 ", "< 502 ", "< ADDED ", "< BOOKMARK ", "< raw ", "< ERROR 410 Expired ")
}
