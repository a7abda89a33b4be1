package servertrace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// read sends a request, and notes its answer, until that ends.
func (r *run) read(name string, req *http.Request) error {
	resp, err := r.server.Read(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if resp.StatusCode != http.StatusOK || !req.URL.Query().Has("watch") {
		data, err := io.ReadAll(body)
		var o unstructured.Unstructured
		if err = errors.Join(err, utiljson.Unmarshal(data, &o.Object), expect(resp.StatusCode, &o)); err == nil {
			r.note(name, o.GetContinue(), whole(resp, &o)...)
		}
		return err
	}
	r.note(name, "", "200 watch")
	for {
		frame, err := body.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(frame) == 0 {
			r.note(name, "", "eof")
			return nil
		}
		var e struct {
			Type   string         `json:"type"`
			Object map[string]any `json:"object"`
		}
		if err = errors.Join(err, utiljson.Unmarshal(frame, &e)); err != nil {
			return err
		}
		text := object(e.Object)
		if e.Type == "ERROR" {
			text = status(e.Object)
		}
		r.note(name, "", e.Type+" "+text)
	}
}

// expect returns an error if a body is not a list after 200, and after another code not a Status
// that has it.
func expect(code int, o *unstructured.Unstructured) error {
	inBody, _, _ := unstructured.NestedInt64(o.Object, "code") // 0 if it has none
	if code == http.StatusOK && strings.HasSuffix(o.GetKind(), "List") || code != http.StatusOK && int64(code) == inBody {
		return nil
	}
	return fmt.Errorf("%d with a %s of code %d", code, cmp.Or(o.GetKind(), "body without a kind"), inBody)
}

// whole returns the lines of a Status or a list.
func whole(resp *http.Response, o *unstructured.Unstructured) []string {
	text := "200 list rv=" + o.GetResourceVersion()
	if resp.StatusCode != http.StatusOK {
		text = status(o.Object)
	}
	if o.GetContinue() != "" {
		text += " continue"
	}
	if n := o.GetRemainingItemCount(); n != nil {
		text += fmt.Sprintf(" remaining=%d", *n)
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " retry-after=" + after
	}
	lines := []string{text}
	items, _ := o.Object["items"].([]any) // a Status has none
	for _, item := range items {
		members, _ := item.(map[string]any)
		lines = append(lines, "\t"+object(members))
	}
	return lines
}

// object returns an object as a trace has it: its name and version, and what an author has given
// it. That of a bookmark has no name.
func object(members map[string]any) string {
	o := unstructured.Unstructured{Object: members}
	text := o.GetName() + "@" + o.GetResourceVersion()
	meta, _ := members["metadata"].(map[string]any)
	maps.DeleteFunc(meta, func(name string, _ any) bool { return name != "labels" && name != "annotations" })
	maps.DeleteFunc(members, func(name string, _ any) bool {
		return name == "kind" || name == "apiVersion" || name == "metadata" && len(meta) == 0
	})
	if len(members) == 0 {
		return text
	}
	rest, _ := json.Marshal(members) // it was JSON
	return text + " " + string(rest)
}

// status returns the words of a Status.
func status(members map[string]any) string {
	var s metav1.Status
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(members, &s) // what is no Status has no code
	text := fmt.Sprintf("%d %s %s", s.Code, s.Reason, strconv.Quote(s.Message))
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			text += " cause=" + string(cause.Type)
		}
	}
	return text
}
