package servertrace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// read sends a request, and notes its answer, until that ends.
func (r *run) read(a *asked, req *http.Request) error {
	resp, err := r.server.Read(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if resp.StatusCode != http.StatusOK || !req.URL.Query().Has("watch") {
		return r.whole(a, resp, body)
	}
	r.note(a, "200 watch")
	for {
		frame, err := body.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(frame) == 0:
			r.note(a, "eof")
			return nil
		case err != nil:
			return err
		}
		var e struct {
			Type   string         `json:"type"`
			Object jsontext.Value `json:"object"`
		}
		if err := json.Unmarshal(frame, &e); err != nil {
			return err
		}
		text, err := object(e.Object)
		if e.Type == "ERROR" {
			text, _, err = status(e.Object, "")
		}
		if err != nil {
			return err
		}
		r.note(a, e.Type+" "+text)
	}
}

// whole notes a Status or a list.
func (r *run) whole(a *asked, resp *http.Response, body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		text, token, err := status(data, resp.Header.Get("Retry-After"))
		r.hold(a, token)
		r.note(a, text)
		return err
	}
	var list struct {
		Metadata metav1.ListMeta  `json:"metadata"`
		Items    []jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	lines := []string{"200 list rv=" + list.Metadata.ResourceVersion + continues(list.Metadata)}
	if n := list.Metadata.RemainingItemCount; n != nil {
		lines[0] += fmt.Sprintf(" remaining=%d", *n)
	}
	for _, item := range list.Items {
		text, err := object(item)
		if err != nil {
			return err
		}
		lines = append(lines, "\t"+text)
	}
	r.hold(a, list.Metadata.Continue)
	r.note(a, lines...)
	return nil
}

func continues(l metav1.ListMeta) string {
	if l.Continue == "" {
		return ""
	}
	return " continue"
}

// object returns an object as a trace has it: its name and version, and what an author has given
// it. That of a bookmark has no name.
func object(data []byte) (string, error) {
	shown := map[string]any{}
	var named struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := errors.Join(json.Unmarshal(data, &shown), json.Unmarshal(data, &named)); err != nil {
		return "", err
	}
	delete(shown, "kind")
	delete(shown, "apiVersion")
	delete(shown, "metadata")
	meta := map[string]any{}
	if len(named.Metadata.Labels) > 0 {
		meta["labels"] = named.Metadata.Labels
	}
	if len(named.Metadata.Annotations) > 0 {
		meta["annotations"] = named.Metadata.Annotations
	}
	if len(meta) > 0 {
		shown["metadata"] = meta
	}
	return withJSON(named.Metadata.Name+"@"+named.Metadata.ResourceVersion, shown)
}

// status returns the words of a Status, and the token with which a list continues.
func status(data []byte, retryAfter string) (text, token string, err error) {
	var s metav1.Status
	if err := json.Unmarshal(data, &s); err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("%d %s %s", s.Code, s.Reason, strconv.Quote(s.Message)) + continues(s.ListMeta)
	if retryAfter != "" {
		text += " retry-after=" + retryAfter
	}
	details := map[string]any{}
	if s.Details != nil && len(s.Details.Causes) > 0 {
		details["causes"] = s.Details.Causes
	}
	text, err = withJSON(text, details)
	return text, s.Continue, err
}

// withJSON adds members, if there are any.
func withJSON(text string, members map[string]any) (string, error) {
	if len(members) == 0 {
		return text, nil
	}
	data, err := json.Marshal(members, json.Deterministic(true))
	return text + " " + string(data), err
}
