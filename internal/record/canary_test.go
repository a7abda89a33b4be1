package record

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/apitest"
)

// canaryObject has text of a user's wherever an object can have it.
const canaryObject = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"canary-%[1]s","namespace":"canary-space","uid":"canary-uid-%[1]s",
"resourceVersion":"%[2]s","generateName":"canary-","selfLink":"/canary","generation":4711,"creationTimestamp":"1980-04-07T11:28:31Z",
"labels":{"canary-label":"canary"},"annotations":{"canary.example.com/a":"canary"},"finalizers":["canary/f"],
"ownerReferences":[{"apiVersion":"canary/v1","kind":"Canary","name":"canary-owner","uid":"canary-owner-uid"}],
"managedFields":[{"manager":"canary","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:canary":{}}}}]},
"data":{"canary":"canary","data":"canary"},"binaryData":{"canaryKey":"Y2FuYXJ5"},"canaryField":{"canaryMap":[{"kind":"canary"}]}}`

// brokenObject cannot be decoded: its version is a number and its labels are a list.
const brokenObject = `{"kind":"CanaryKind","apiVersion":"canary/v1","metadata":{"name":"canary-broken","namespace":"canary-space","uid":"canary-broken-uid",
"resourceVersion":"12","labels":["canary"],"canary":{"canary":"canary"}},"data":{"canary":4711},"spec":{"kind":"canary","tenants":{"canary":{"seats":4711}}}}`

const canaryStatus = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"canary-one\" is forbidden: User \"canary@example.com\" cannot list, limit canary/x",
"reason":"%s","code":%d,"details":{"name":"canary-one","group":"canary.example.com","kind":"canaries","uid":"canary-uid-one","causes":[{"reason":"CanaryReason","message":"canary","field":"spec.canary"}]}}`

// canaries is a server whose every answer has them. It has one answer for each list and each watch, and then no more.
type canaries struct {
	t        *testing.T
	encoding Encoding
	lists    atomic.Int32
	watches  atomic.Int32
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
	w.Header().Set("Content-Type", c.format().MediaType())
	w.WriteHeader(code)
	_, _ = w.Write(c.encode(text))
}

func (c *canaries) watch(w http.ResponseWriter, req *http.Request, nth int32) {
	var send func(message []byte)
	var finish func()
	wait := func() { <-req.Context().Done() }
	if websocket.IsWebSocketUpgrade(req) {
		up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
		ws, err := up.Upgrade(w, req, nil)
		if err != nil {
			c.t.Error(err)
			return
		}
		defer ws.Close()
		wait = func() {
			for err := error(nil); err == nil; {
				_, _, err = ws.ReadMessage()
			}
		}
		typ := websocket.BinaryMessage
		if c.encoding == JSON {
			typ = websocket.TextMessage
		}
		send = func(message []byte) { _ = ws.WriteMessage(typ, message) }
		finish = func() {
			_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1001, "canary is going away"))
		}
	} else {
		w.Header().Set("Content-Type", c.format().StreamMediaType())
		send = func(message []byte) {
			_, _ = w.Write(c.frame(message))
			_ = http.NewResponseController(w).Flush()
		}
		finish = func() { // in the middle of an event
			send(c.event("MODIFIED", fmt.Sprintf(canaryObject, "cut", "14"))[:150])
			panic(http.ErrAbortHandler)
		}
	}
	if nth > 1 {
		<-time.After(20 * time.Second) // what the client asks for because the last watch ended is over
	}
	switch nth {
	case 1:
		send(c.event("ADDED", fmt.Sprintf(canaryObject, "three", "11")))
		<-time.After(time.Second)
		send(c.event("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"12","annotations":{"canary":"canary","k8s.io/initial-events-end":"canary"}}}`))
		<-time.After(time.Second)
		if c.encoding != Protobuf { // no metadata in protobuf can be of the wrong type, but for bytes that are none
			send(c.event("MODIFIED", brokenObject))
		}
		<-time.After(12 * time.Second)
		finish()
	case 2:
		send(c.event("CANARY", fmt.Sprintf(canaryObject, "four", "13")))
		<-time.After(12 * time.Second)
	case 3:
		send([]byte("canary {\"canary\" 4711\n"))
		<-time.After(12 * time.Second)
	case 4:
		send(c.event("ERROR", fmt.Sprintf(canaryStatus, "Expired", 410)))
		<-time.After(12 * time.Second)
	default:
		wait()
	}
}

func (c *canaries) format() encoding {
	for _, e := range encodings {
		if e.name() == c.encoding {
			return e
		}
	}
	return nil
}

// encode returns an object, a list or a Status in the server's encoding.
func (c *canaries) encode(text string) []byte {
	switch c.encoding {
	case CBOR:
		var content map[string]any
		if err := utiljson.Unmarshal([]byte(text), &content); err != nil {
			c.t.Fatal(err)
		}
		if data, ok := content["binaryData"].(map[string]any); ok {
			data["canaryKey"] = []byte("canary")
		}
		return append([]byte(cborTag), c.marshal(direct.Marshal(content))...)
	case Protobuf:
		return c.protobuf(text)
	default:
		return []byte(text + "\n")
	}
}

func (c *canaries) marshal(data []byte, err error) []byte {
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

func (c *canaries) protobuf(text string) []byte {
	var kind metav1.TypeMeta
	into := func(v any) {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			c.t.Fatal(err)
		}
	}
	into(&kind)
	const field9 = "\x4a\x06canary" // of whatever type
	var message []byte
	switch {
	case kind.Kind == "Status":
		var s metav1.Status
		into(&s)
		message = c.marshal(s.Marshal())
	case strings.HasSuffix(kind.Kind, "List"):
		var l metav1.PartialObjectMetadataList
		into(&l)
		message = c.marshal(l.Marshal())
	default:
		var o metav1.PartialObjectMetadata
		into(&o)
		message = append(c.marshal(o.Marshal()), field9...)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind.Kind, APIVersion: kind.APIVersion}, Raw: message}
	return append([]byte(protobufMagic), c.marshal(unknown.Marshal())...)
}

func (c *canaries) event(typ, text string) []byte {
	switch c.encoding {
	case CBOR:
		content := map[string]any{}
		if err := utiljson.Unmarshal([]byte(text), &content); err != nil {
			c.t.Fatal(err)
		}
		return append([]byte(cborTag), c.marshal(direct.Marshal(map[string]any{"type": typ, "object": content}))...)
	case Protobuf:
		return c.marshal((&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: c.protobuf(text)}}).Marshal())
	default:
		return []byte(`{"type":"` + typ + `","object":` + strings.ReplaceAll(text, "\n", "") + "}\n")
	}
}

// frame is a message as it stands in a body.
func (c *canaries) frame(message []byte) []byte {
	if c.encoding != Protobuf {
		return message
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

var canary = regexp.MustCompile(`(?i)canar|c4n4ry|4711|1980-|P@|☃|` + regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte("canary"))))

// A server has text of a user's in every position of its answers: names, keys of maps, values, labels, annotations, owners,
// managed fields, errors, tokens, headers, strange versions and kinds; in good objects, in broken ones, in what is no
// object, and in what broke off. Nothing of it is left in what was scrubbed, in any encoding, in bodies and over WebSocket,
// and the trace still passes.
func TestNoCanarySurvives(t *testing.T) {
	for _, wire := range append(wires, struct {
		encoding Encoding
		socket   bool
	}{JSON, false}) {
		for _, full := range []bool{false, true} {
			if full && wire.encoding == Protobuf {
				continue
			}
			t.Run(fmt.Sprintf("%s/socket=%t/full=%t", wire.encoding, wire.socket, full), func(t *testing.T) {
				opts := setup{handler: &canaries{t: t, encoding: wire.encoding}, Options: Options{
					Path: "/api/v1/namespaces/canary-space/configmaps", PageSize: 1, Encoding: wire.encoding, WebSocket: wire.socket, Full: full,
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
			})
		}
	}
}
